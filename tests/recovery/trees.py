"""Trees that look like a node's /proc, /sys and /etc/pve, for what cannot be made here."""

import os
from pathlib import Path

from stoker.recovery.machine import Machine

VERSION = "580.126.09"
STACK = "[<0>] os_acquire_rwlock_write+0x35/0x50 [nvidia]\n[<0>] nvidia_close+0x1/0x2 [nvidia]\n"
EXITING, KERNEL = 0x4, 0x200000


def machine(root: Path) -> Machine:
    """A node that lies in a folder: nothing of this machine is seen."""
    for name in ("proc", "sys", "dev", "cgroup", "pve", "run", "state", "driver"):
        (root / name).mkdir(exist_ok=True)
    write(root / "proc/stat", "btime 1700000000\n")
    write(root / "proc/sys/kernel/random/boot_id", "boot-1\n")
    return Machine(
        proc=str(root / "proc"),
        sys=str(root / "sys"),
        dev=str(root / "dev"),
        cgroup=str(root / "cgroup"),
        pve=str(root / "pve"),
        run=str(root / "run"),
        state=str(root / "state"),
        driver=str(root / "driver"),
        stand_in=True,
    )


def write(path: Path, text: str | bytes) -> None:
    """A file and its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def process(
    root: Path,
    pid: int,
    *,
    state: str = "S",
    flags: int = 0,
    threads: int = 1,
    cgroup: str = "/",
    stack: str = "",
    ns_pid: int = 0,
    start: int = 100,
) -> Path:
    """A process with no files and no mappings; its folder."""
    folder = root / "proc" / str(pid)
    numbers = ["1"] * 5 + [str(flags)] + ["0"] * 10 + [str(threads), "0", str(start)]
    stat = f"{pid} (name {pid}) {state} {' '.join(numbers)} 0 0\n"
    for place in (folder, folder / "task" / str(pid)):
        write(place / "stat", stat)
        write(place / "status", f"SigPnd:\t0000000000000000\nNSpid:\t{pid}\t{ns_pid or pid}\n")
        write(place / "stack", stack)
        (place / "fd").mkdir()
    write(folder / "cgroup", f"0::{cgroup}\n")
    write(folder / "maps", "")
    write(folder / "cmdline", f"program\0--number\0{pid}\0")
    return folder


def gpu(
    root: Path, number: int, *, binding: str = "nvidia", config: bytes = b"\xde\x10" * 32
) -> None:
    """A GPU in slot 0000:<number>1:00.0 with that minor."""
    bdf = address(number)
    device = root / "driver/sys/bus/pci/devices" / bdf
    write(device / "vendor", "0x10de\n")
    write(device / "class", "0x030200\n")
    write(device / "config", config)
    if binding:
        (device / "driver").symlink_to(f"../../drivers/{binding}")
    if binding == "nvidia":
        write(
            root / "driver/proc/driver/nvidia/gpus" / bdf / "information",
            f"Model: \t\t NVIDIA RTX PRO 6000\nIRQ:   \t\t 1\nGPU UUID: \t {uuid(number)}\n"
            f"Bus Location: \t {bdf}\nDevice Minor: \t {number}\nGPU Excluded:\t No\n",
        )


def loaded(root: Path) -> None:
    """A driver that is loaded."""
    write(root / "driver/sys/module/nvidia/version", f"{VERSION}\n")
    write(root / "driver/sys/module/nvidia/refcnt", "3\n")
    write(root / "driver/sys/module/nvidia_uvm/refcnt", "0\n")
    write(
        root / "driver/proc/driver/nvidia/version",
        f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {VERSION}  Release Build\n",
    )
    write(
        root / "driver/proc/devices",
        "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n511 nvidia-uvm\n\n"
        "Block devices:\n  8 sd\n",
    )


def container(root: Path, vmid: int, conf: str, *, populated: bool = True, init: int = 0) -> None:
    """A container's configuration, its cgroup, and its first process if `init` names one."""
    write(root / f"pve/lxc/{vmid}.conf", conf)
    group = root / f"cgroup/lxc/{vmid}"
    write(group / "cgroup.events", f"populated {int(populated)}\nfrozen 0\n")
    write(group / "cgroup.freeze", "0\n")
    write(group / "ns/cgroup.events", f"populated {int(populated)}\nfrozen 0\n")
    if init:
        write(group / "ns/init.scope/cgroup.procs", f"{init}\n")
        process(root, init, cgroup=f"/lxc/{vmid}/ns/init.scope", ns_pid=1)


def address(number: int) -> str:
    """PCI address of that GPU."""
    return f"0000:{number}1:00.0"


def uuid(number: int) -> str:
    """UUID of that GPU."""
    return f"GPU-0000000{number}"


def smi(folder: Path, script: str) -> None:
    """A program called nvidia-smi."""
    folder.mkdir(exist_ok=True)
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    os.chmod(program, 0o755)  # noqa: PTH101


def document(*used_mib: int) -> str:
    """`nvidia-smi -q -x` of GPUs that use so much."""
    gpus = "".join(
        f'<gpu id="0000{address(number).upper()}"><uuid>{uuid(number)}</uuid>'
        f"<minor_number>{number}</minor_number><product_name>RTX</product_name>"
        f"<persistence_mode>Enabled</persistence_mode><fb_memory_usage><total>97887 MiB</total>"
        f"<reserved>638 MiB</reserved><used>{used} MiB</used></fb_memory_usage></gpu>"
        for number, used in enumerate(used_mib)
    )
    head = '<?xml version="1.0" ?>\n<nvidia_smi_log>'
    return f"{head}<driver_version>{VERSION}</driver_version>{gpus}</nvidia_smi_log>"
