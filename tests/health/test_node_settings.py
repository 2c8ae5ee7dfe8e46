"""Settings of a node: a sentence only for what is surely not good."""

from dataclasses import replace

import pytest

from stoker.health.node_seen import Gpu, Row, Settings
from stoker.health.node_settings import driver_packages, rows, sentences, unheld

GPU = Gpu(
    "0000:01:00.0",
    width="16",
    most_width="16",
    slot_width="16",
    speed="32.0 GT/s PCIe",
    most_speed="32.0 GT/s PCIe",
    iommu="identity",
    driver="nvidia",
    l1="0",
    bridges=(("0000:00:01.0", False),),
)
TWO = (GPU, replace(GPU, bdf="0000:02:00.0"))
GOOD = Settings(
    loaded="580.126.09",
    installed="580.126.09",
    gpus=TWO,
    command_line="quiet iommu=pt",
    aspm="[default] performance",
    ptrace_scope="0",
    persistenced=True,
)
DRIVER = ("libcuda1", "install", "580.126.09-1")
SMI = {
    "uuid": "GPU-1",
    "pci.bus_id": "00000000:01:00.0",
    "persistence_mode": "Enabled",
    "power.limit": "600.00",
    "power.default_limit": "600.00",
    "ecc.mode.current": "Enabled",
    "remapped_rows.pending": "No",
    "remapped_rows.failure": "No",
}


def of(check: str, seen: Settings, smi: list[dict[str, str]] | None = None) -> Row:
    return next(row for row in rows(seen, smi) if row.check == check)


def test_a_good_node_has_no_sentence() -> None:
    assert sentences(rows(GOOD)) == sentences(rows(GOOD, [SMI])) == ()


def test_a_machine_without_gpus_or_with_those_of_vms_alone_is_no_fault() -> None:
    assert sentences(rows(Settings())) == ()
    vm = replace(GOOD, loaded="", gpus=(replace(GPU, driver="vfio-pci"),))
    assert sentences(rows(vm)) == ()


def test_gpus_without_a_driver_are_a_sentence() -> None:
    (told,) = sentences(rows(replace(GOOD, loaded="", installed="")))
    assert told == "driver: no NVIDIA module is loaded; install the driver"


def test_a_newer_module_on_disk_waits_for_a_reload() -> None:
    (told,) = sentences(rows(replace(GOOD, installed="580.142")))
    assert told.startswith("driver: 580.126.09 is loaded, 580.142 is installed; a reboot, or a")
    assert sentences(rows(replace(GOOD, installed=""))) == ()


def test_a_link_is_narrow_only_against_what_the_slot_has() -> None:
    narrow = replace(GPU, width="8")
    (told,) = sentences(rows(replace(GOOD, gpus=(narrow,))))
    assert told.startswith("link width: 0000:01:00.0 x8 of x16; ")
    assert sentences(rows(replace(GOOD, gpus=(replace(narrow, slot_width="8"),)))) == ()


@pytest.mark.parametrize("width", ["", "0", "255", "Unknown"])
def test_a_link_that_is_not_told_is_no_fault(width: str) -> None:
    seen = replace(GOOD, gpus=(replace(GPU, width=width),))
    assert of("link width", seen).good is None


def test_a_slow_link_is_no_fault_since_an_idle_gpu_has_one() -> None:
    row = of("link speed", replace(GOOD, gpus=(replace(GPU, speed="2.5 GT/s PCIe"),)))
    assert row.good is None
    assert row.found == "2.5 GT/s PCIe of 32.0 GT/s PCIe, which an idle GPU lowers"


def redirecting(iommu: str) -> Settings:
    bridges = (("0000:00:01.0", False), ("0000:03:00.0", True))
    return replace(GOOD, gpus=tuple(replace(one, bridges=bridges, iommu=iommu) for one in TWO))


def test_redirecting_bridges_are_told_behind_a_translating_iommu_and_only_as_reported() -> None:
    (told,) = sentences(rows(redirecting("DMA-FQ")))
    assert told.startswith("ACS: 1 bridges above GPUs redirect (0000:03:00.0); ")
    assert "reported to hang" in told
    assert sentences(rows(redirecting("identity"))) == sentences(rows(redirecting(""))) == ()
    alone = redirecting("DMA")
    assert sentences(rows(replace(alone, gpus=alone.gpus[:1]))) == ()


def test_bridges_that_cannot_be_read_are_no_fault() -> None:
    seen = replace(GOOD, gpus=(replace(GPU, bridges=(("0000:00:01.0", None),)), GPU))
    assert of("ACS", replace(seen, gpus=seen.gpus[:1])).found.startswith("cannot tell")


def test_what_is_only_reported_is_shown_and_not_asserted() -> None:
    seen = replace(GOOD, ptrace_scope="1", gpus=(replace(GPU, l1="1"),))
    assert sentences(rows(seen)) == ()
    assert "reported" in of("ptrace_scope", seen).do
    assert "reported" in of("ASPM", seen).do


def test_packages_that_an_unattended_upgrade_may_replace_are_told() -> None:
    loose = replace(GOOD, packages=(DRIVER,), unattended=True)
    (told,) = sentences(rows(loose))
    assert told.startswith("packages: 1 of the driver not held (libcuda1), and unattended-upgrades")
    assert sentences(rows(replace(loose, unattended=False))) == ()
    held = replace(loose, packages=(("libcuda1", "hold", "580.126.09-1"),))
    assert of("packages", held).found == "1 held"


def test_a_driver_s_packages_are_known_by_their_versions() -> None:
    others = [
        ("libnvidia-container1", "install", "1.17.8-1"),
        ("nvidia-cuda-toolkit", "install", "12.4.131~12.4.1-2"),
        ("nvidia-kernel-common", "install", "20220217+3~deb12u1"),
    ]
    ours = [("nvidia-smi", "hold", "535.183.01-1~deb12u1"), ("cuda-drivers", "x", "1:580.95.05-1")]
    assert driver_packages([*others, *ours]) == ("nvidia-smi", "cuda-drivers")
    assert unheld([*others, *ours]) == ("cuda-drivers",)


def test_what_nvidia_smi_says_is_judged_where_it_was_asked() -> None:
    assert of("power limit", GOOD, [{**SMI, "power.limit": "450.00"}]).good is None
    assert of("power limit", GOOD, [{**SMI, "power.limit": "[N/A]"}]).found == "cannot tell"
    assert of("persistence", GOOD, [{**SMI, "persistence_mode": "Disabled"}]).good is False
    assert of("memory rows", GOOD, [{**SMI, "remapped_rows.pending": "Yes"}]).good is False
    assert of("memory rows", GOOD, [{**SMI, "remapped_rows.failure": "Yes"}]).do.endswith(
        "replaced"
    )
    assert of("nvidia-smi", GOOD, []).good is None
