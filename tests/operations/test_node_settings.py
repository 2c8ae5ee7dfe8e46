"""A node's settings: told always, changed only where asked, and whole after a run that died."""

from typing import Any

import pytest

from stoker.facts.files import FileState, FileStates
from stoker.facts.node_settings import Daemon, NodeSettings, Persistence, SmiSettings
from stoker.health.node_seen import Gpu, Settings
from stoker.operations import node_settings
from tests.operations.given import Given, run

MODULES = ("/etc/modules-load.d/stoker-nvidia.conf", "/etc/modprobe.d/stoker-nvidia.conf")
MARK = "/var/lib/stoker/initramfs-pending"
SMI = {
    "uuid": "GPU-1",
    "persistence_mode": "Disabled",
    "power.limit": "600.00",
    "power.min_limit": "150.00",
    "power.max_limit": "600.00",
}


def node(**facts: Any) -> Given:
    named = {one.__name__: one for one in (FileStates, NodeSettings, Persistence, SmiSettings)}
    return Given({named[name]: value for name, value in facts.items()}, "pve1")


def test_what_is_not_good_is_said_once_a_run_and_changes_nothing() -> None:
    host = node(NodeSettings=Settings(gpus=(Gpu("0000:01:00.0"),)))
    assert run(node_settings.reported, host) == run(node_settings.reported, host) == []
    assert len(host.told) == 1
    assert "driver: no NVIDIA module is loaded; install the driver" in host.told[0]


def test_a_node_that_gives_no_answer_is_a_sentence() -> None:
    host = node(NodeSettings=None)
    assert run(node_settings.reported, host) == []
    assert "cannot look at the node's settings" in host.told[0]


def modules(there: dict[str, FileState]) -> list[Any]:
    return run(node_settings.modules, node(FileStates=there))


def right() -> dict[str, FileState]:
    files = (node_settings._LOADED, node_settings._BLOCKED)
    return {str(one.path): FileState(one.sha256, one.mode, "root:root") for one in files}


def test_modules_are_written_and_the_initramfs_made_anew() -> None:
    done = modules({})
    puts = [one[2] for one in done if isinstance(one, tuple)]
    assert puts == [f"{path}.stoker-new" for path in MODULES]
    assert done[1] == f"touch -- {MARK}"
    assert done[-2:] == ["update-initramfs -u -k all", f"rm -f -- {MARK}"]
    assert modules(right()) == []


def test_a_run_that_died_before_the_initramfs_was_made_makes_it_in_the_next() -> None:
    left = right() | {MARK: FileState("", 0o644, "root:root")}
    assert modules(left) == ["update-initramfs -u -k all", f"rm -f -- {MARK}"]


def command_line(seen: Settings, pending: bool = False) -> tuple[list[Any], list[str]]:
    marks = {"/var/lib/stoker/boot-pending": FileState("", 0o644, "root:root")} if pending else {}
    host = node(NodeSettings=seen, FileStates=marks)
    return run(node_settings.command_line, host, words=["iommu=pt"]), host.told


def test_the_command_line_is_added_to_with_the_old_file_kept_and_a_reboot_told() -> None:
    done, told = command_line(Settings(cmdline_file="root=/dev/sda1", command_line="quiet"))
    assert "cp -fp -- /etc/kernel/cmdline /etc/kernel/cmdline.stoker-old" in done
    assert ("put", "root=/dev/sda1 iommu=pt\n", "/etc/kernel/cmdline.stoker-new") in done
    assert done[-1] == "rm -f -- /var/lib/stoker/boot-pending"
    assert "a reboot is pending" in told[0]


def test_a_command_line_that_has_the_words_is_left_alone() -> None:
    seen = Settings(cmdline_file="root=/dev/sda1 iommu=pt", command_line="quiet iommu=pt")
    assert command_line(seen) == ([], [])
    done, _ = command_line(seen, pending=True)
    assert "proxmox-boot-tool refresh" in done[2]


def test_a_node_without_a_known_boot_loader_is_refused() -> None:
    ((kind, sentence),), _ = command_line(Settings())
    assert kind == "refused"
    assert sentence.endswith("add iommu=pt as its boot loader wants it")


def test_persistence_is_the_daemon_s_where_there_is_one() -> None:
    found = Daemon(there=True, enabled=False, active=False)
    assert run(node_settings.persistence, node(Persistence=found)) == [
        "systemctl enable --quiet nvidia-persistenced.service",
        "systemctl start nvidia-persistenced.service",
    ]
    well = Daemon(there=True, enabled=True, active=True)
    assert run(node_settings.persistence, node(Persistence=well)) == []


def test_persistence_is_nvidia_smi_s_where_there_is_no_daemon() -> None:
    host = node(Persistence=Daemon(), SmiSettings=[SMI])
    assert run(node_settings.persistence, host) == ["nvidia-smi -pm 1"]
    host = node(Persistence=Daemon(), SmiSettings=[{**SMI, "persistence_mode": "Enabled"}])
    assert run(node_settings.persistence, host) == []


def test_a_power_limit_is_set_only_where_it_differs() -> None:
    host = node(SmiSettings=[SMI, {**SMI, "uuid": "GPU-2", "power.limit": "450.00"}])
    assert run(node_settings.power, host, limits=450) == ["nvidia-smi -i GPU-1 -pl 450"]
    assert run(node_settings.power, host, limits={"GPU-2": 450}) == []


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (700, "GPU-1 takes 150 to 600 W, not 700"),
        ({"GPU-9": 300}, "the node has no GPU GPU-9, it has GPU-1"),
    ],
)
def test_a_power_limit_that_cannot_be_is_refused(limits: Any, why: str) -> None:
    ((kind, sentence),) = run(node_settings.power, node(SmiSettings=[SMI]), limits=limits)
    assert (kind, why in sentence) == ("refused", True)


def test_only_the_driver_s_packages_that_are_not_held_are() -> None:
    packages = (
        ("libcuda1", "install", "580.126.09-1"),
        ("nvidia-smi", "hold", "580.126.09-1"),
        ("libnvidia-container1", "install", "1.17.8-1"),
    )
    host = node(NodeSettings=Settings(packages=packages))
    assert run(node_settings.held, host) == ["apt-mark hold libcuda1"]
    assert run(node_settings.held, node(NodeSettings=Settings())) == []


def test_packages_are_not_called_held_where_nobody_could_look() -> None:
    ((kind, sentence),) = run(node_settings.held, node(NodeSettings=None))
    assert (kind, sentence.startswith("cannot hold the driver's packages")) == ("refused", True)
