"""Which kernel messages speak of a death, and how a flood of one kind hides no other."""

import time

import pytest

from stoker.health import kernel_kinds, kernel_log
from stoker.health.kernel_log import Message
from tests.health.test_xids import LOG

# Texts as the kernel (5.15 to 6.14) and the driver (550 to 595) format them.
ABOUT_A_DEATH = {
    "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0": "memory",
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=ns,mems_allowed=0,"
    "oom_memcg=/lxc/200,task_memcg=/lxc/200/ns,task=x,pid=9,uid=0": "memory",
    "Memory cgroup out of memory: Killed process 9 (sglang::schedul) total-vm:1kB": "memory",
    "Out of memory: Killed process 9231 (systemd) total-vm:167392kB, anon-rss:2688kB": "memory",
    "memory: usage 33554432kB, limit 33554432kB, failcnt 210": "memory",
    "NVRM: Xid (PCI:0000:21:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen": "xid79",
    "NVRM: Xid (0000:41:00): 119, Timeout after 6s of waiting for RPC response": "xid119",
    "NVRM: API mismatch: the client 'nvidia-smi' (pid 4713)": "mismatch",
    "NVRM: GPU 0000:21:00.0: RmInitAdapter failed! (0x62:0x40:2477)": "driver",
    "nvidia-uvm: uvm encountered global fatal error 0x60, requiring os reboot": "driver",
    "AMD-Vi: Event logged [IO_PAGE_FAULT device=01:00.0 domain=0x000f]": "iommu",
    "nvidia 0000:01:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000f]": "iommu",
    "DMAR: [DMA Read NO_PASID] Request device [01:00.0] fault addr 0xfe [fault reason]": "iommu",
    "INFO: task nvidia-smi:4711 blocked for more than 120 seconds.": "blocked",
    "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [UVM GPU1 BH:4712]": "blocked",
    "python3[28001]: segfault at 0 ip 00007f sp 00007f error 4 in libcuda.so": "fault",
    "traps: python3[28001] trap invalid opcode ip:7f sp:7f error:0 in common_ops": "fault",
    "traps: python3[28001] general protection fault ip:7f sp:7f error:0": "fault",
    "pcieport 0000:00:01.1: AER: Uncorrectable (Fatal) error message received": "bus",
    "nvidia 0000:01:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=T": "bus",
    "pcieport 0000:00:01.1: pciehp: Slot(1): Link Down": "bus",
    "pcieport 0000:00:01.1: AER: Multiple Corrected error received: 0000:01:00.0": "corrected",
}
NOT_ABOUT_ONE = [
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.126.09  Release Build",
    "Linux version 6.14.11-4-pve (build@proxmox)",
    "usb 1-1: new high-speed USB device number 2",
    "audit: type=1400 comm='NVRM: Xid (PCI:0000:21:00): 79, GPU has fallen off the bus'",
    "nvidia-uvm: Loaded the UVM driver, major device number 511.",
    "DMAR: IOMMU enabled",
    "AMD-Vi: Interrupt remapping enabled",
    "EXT4-fs (dm-1): mounted filesystem",
]


@pytest.mark.parametrize(("text", "kind"), ABOUT_A_DEATH.items())
def test_what_speaks_of_a_death_is_known_by_its_beginning(text: str, kind: str) -> None:
    assert kernel_kinds.kind(text) == kind


@pytest.mark.parametrize("text", NOT_ABOUT_ONE)
def test_the_rest_of_the_log_is_left_out(text: str) -> None:
    assert kernel_kinds.kind(text) == ""


def test_a_flood_of_one_kind_hides_no_other_and_keeps_its_first_and_last() -> None:
    flood = [Message(float(n), f"NVRM: Xid (PCI:0000:01:00): 13, line {n}") for n in range(5000)]
    flood.insert(2500, Message(2500.0, "NVRM: Xid (PCI:0000:21:00): 79, GPU has fallen off"))
    kept, left = kernel_kinds.chosen(flood)
    assert left == 5000 - 24
    assert [one.text for one in kept if ": 79," in one.text]
    assert (kept[0].text[-6:], kept[-1].text[-9:]) == ("line 0", "line 4999")
    assert [one.time for one in kept] == sorted(one.time for one in kept)


def test_all_of_it_together_is_bounded() -> None:
    many = [
        Message(float(n), f"NVRM: Xid (PCI:0000:01:00): {n % 9999}, {'x' * 4000}")
        for n in range(50_000)
    ]
    kept, left = kernel_kinds.chosen(many)
    assert len(kept) == kernel_kinds.MOST and left == 50_000 - kernel_kinds.MOST
    assert sum(len(one.text) for one in kept) <= kernel_kinds.MOST * kernel_kinds.LONGEST


def test_an_api_mismatch_is_one_line_however_the_kernel_broke_it() -> None:
    kept, _ = kernel_kinds.chosen(kernel_log.messages(LOG))
    told = [one.text for one in kept if one.text.startswith("NVRM: API mismatch")]
    wanted = ("(pid 4713) has the version 580.142, ", "(pid 4714) has the", "client has the")
    assert all(words in text for words, text in zip(wanted, told, strict=True))
    assert all("but this kernel module has the version" in text for text in told)


def test_hostile_messages_cost_no_time() -> None:
    began = time.monotonic()
    for text in (
        "a" * 4096,
        "NVRM: Xid (" * 370,
        "[1" * 2048,
        "traps: " * 585,
        "INFO: task " * 372,
    ):
        for _ in range(20):
            kernel_kinds.kind(text)
    assert time.monotonic() - began < 0.5
