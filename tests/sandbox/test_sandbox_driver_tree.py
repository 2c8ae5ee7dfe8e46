"""What the stand-in driver shows of itself as files, and its modprobe; on a node of a directory."""

import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stoker.sandbox import breakage, gpu
from stoker.sandbox.node import gpu_log, gpu_modules, gpu_nodes
from stoker.sandbox.node.gpu_observer import Observer

UUIDS = [one["uuid"] for one in gpu.initial("test/pve1", 2)["gpus"]]
NODES = {"nvidia0": "full", "nvidia1": "urandom", "nvidiactl": "zero", "nvidia-uvm": "tty"}


def _number(name: str) -> list[int]:
    rdev = Path("/dev", name).stat().st_rdev
    return [os.major(rdev), os.minor(rdev)]


class Driver:
    """The GPUs' directory of a node, with processes that are directories."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("gpu", "proc", "cgroup", "dev"):
            (root / name).mkdir()
        nodes = {name: _number(device) for name, device in NODES.items()}
        state = gpu.initial("test/pve1", 2) | {"nodes": nodes, "boots": 1}
        state["majors"] = {"nvidia": 7, "nvidia-uvm": 10}
        gpu.write(root / "gpu/state.json", state)
        self.look()

    def look(self) -> None:
        Observer(*(str(self.root / name) for name in ("gpu", "proc", "cgroup"))).look()

    @property
    def state(self) -> dict[str, Any]:
        return gpu.read(self.root / "gpu/state.json")

    def breaks(self, name: str) -> None:
        scenario = breakage.SCENARIOS[name]
        with gpu.changing(self.root / "gpu/state.json") as state:
            state["failures"] |= scenario.failures(state)
            lines = [gpu_log.line(text, 1.5, "pve1") for text in scenario.log(state)]
            state["kernel_log"] += lines
        self.look()

    def process(self, pid: int, *nodes: str) -> None:
        table = self.root / f"proc/{pid}/task/{pid}/fd"
        table.mkdir(parents=True)
        for number, name in enumerate(nodes):
            (table / str(number)).symlink_to(f"/dev/{NODES[name]}")
        self.look()

    def read(self, name: str) -> str:
        return (self.root / "gpu/kernel" / name).read_text()

    def has(self, name: str) -> bool:
        return os.path.lexists(self.root / "gpu/kernel" / name)

    def run(self, program: str, *words: str) -> int:
        where = (str(self.root / name) for name in ("gpu", "proc", "dev"))
        return gpu_modules.PROGRAMS[program](words, *where)


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    monkeypatch.setattr(gpu_nodes, "make", _made_of_files)
    return Driver(tmp_path)


def _made_of_files(directory: str, nodes: dict[str, list[int]]) -> None:
    for name, number in nodes.items():
        Path(directory, name).write_text(f"{number}")


def test_a_loaded_driver_shows_its_version_and_each_gpu(driver: Driver) -> None:
    assert "NVIDIA UNIX Open Kernel Module for x86_64  580.126.09 " in driver.read(
        "proc/driver/nvidia/version"
    )
    told = driver.read("proc/driver/nvidia/gpus/0000:11:00.0/information")
    assert f"GPU UUID: \t {UUIDS[1]}\n" in told and "Device Minor: \t 1\n" in told
    device = "sys/bus/pci/devices/0000:01:00.0"
    assert (driver.read(f"{device}/vendor"), driver.read(f"{device}/class")) == (
        "0x10de\n",
        "0x030200\n",
    )
    link = driver.root / f"gpu/kernel/{device}/driver"
    assert link.readlink().name == "nvidia"
    assert (driver.root / f"gpu/kernel/{device}/config").read_bytes()[:4].hex() == "de10b52b"


def test_references_are_those_of_the_processes_that_hold_nodes(driver: Driver) -> None:
    assert driver.read("sys/module/nvidia_uvm/refcnt") == "0\n"
    driver.process(10, "nvidia0", "nvidiactl", "nvidia-uvm")
    assert driver.read("sys/module/nvidia_uvm/refcnt") == "1\n"
    # Two modules use it, and two of its nodes are open.
    assert driver.read("sys/module/nvidia/refcnt") == "4\n"
    assert driver.read(f"proc/driver/nvidia-uvm/gpus/{UUIDS[0]}/0/info").split() == [
        "retained_count",
        "1",
    ]
    assert not driver.has(f"proc/driver/nvidia-uvm/gpus/{UUIDS[1]}")


def test_a_driver_that_is_not_loaded_has_no_file(driver: Driver) -> None:
    driver.breaks("driver-not-loaded")
    for name in ("sys/module", "proc/driver", "sys/bus/pci/devices/0000:01:00.0/driver"):
        assert not driver.has(name), name
    assert "nvidia" not in driver.read("proc/devices")


def test_a_lost_gpu_reads_all_ones_and_the_log_asks_for_a_reboot(driver: Driver) -> None:
    driver.breaks("gpu-lost")
    config = driver.root / "gpu/kernel/sys/bus/pci/devices/0000:01:00.0/config"
    assert config.read_bytes() == b"\xff" * 64
    log = driver.read("kernel.log").splitlines()
    assert log[0].startswith("1.500000 pve1 kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=")
    assert log[2].endswith(
        "154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
    )


def test_a_silent_gsp_is_logged_with_the_reset_it_needs(driver: Driver) -> None:
    driver.breaks("gpu-requires-reset")
    log = driver.read("kernel.log").splitlines()
    assert ": 119, pid=4242, name=nvidia-smi, Timeout after 6s" in log[0]
    assert log[1].endswith("to 0x1 (GPU Reset Required)")


def test_a_mismatch_is_one_message_of_five_lines(driver: Driver) -> None:
    driver.breaks("driver-mismatch")
    log = driver.read("kernel.log").splitlines()
    assert log[0].endswith("NVRM: API mismatch: the client 'nvidia-smi' (pid 4242)")
    assert len(log) == 5 and log[1].startswith(" " * len("1.500000 pve1 kernel: ") + "NVRM: has")


def test_modprobe_unloads_in_order_and_only_what_nobody_holds(
    driver: Driver, capsys: pytest.CaptureFixture[str]
) -> None:
    assert driver.run("modprobe", "-r", "nvidia") == 1
    driver.process(10, "nvidia0", "nvidia-uvm")
    assert driver.run("modprobe", "-r", "nvidia-uvm") == 1
    assert capsys.readouterr().err.splitlines() == [
        "modprobe: FATAL: Module nvidia is in use.",
        "modprobe: FATAL: Module nvidia_uvm is in use.",
    ]
    assert driver.has("sys/module/nvidia_uvm")


def test_after_a_reload_uvm_has_another_major_and_new_nodes(driver: Driver) -> None:
    before = driver.state["majors"]["nvidia-uvm"]
    assert driver.run("modprobe", "-r", "nvidia_uvm") == 0
    assert not driver.has("sys/module/nvidia_uvm") and driver.has("sys/module/nvidia")
    assert driver.run("modprobe", "nvidia_uvm") == 0
    state = driver.state
    assert state["majors"]["nvidia-uvm"] != before
    assert (driver.root / "dev/nvidia-uvm").read_text() == str(state["nodes"]["nvidia-uvm"])
    assert not (driver.root / "dev/nvidia0").exists()


def test_a_whole_reload_goes_through_every_module(driver: Driver) -> None:
    modules = ["nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia"]
    for module in modules:
        assert driver.run("modprobe", "-r", module) == 0
    assert not driver.has("sys/module")
    assert driver.run("modprobe", "-r", "nvidia") == 0
    for module in reversed(modules):
        assert driver.run("modprobe", module) == 0
    assert driver.read("sys/module/nvidia/refcnt") == "2\n"
    assert "loading NVIDIA UNIX Open Kernel Module" in driver.read("kernel.log")


def test_a_driver_that_was_not_loaded_is_loaded_with_what_it_needs(driver: Driver) -> None:
    driver.breaks("driver-not-loaded")
    assert driver.run("modprobe", "nvidia_drm") == 0
    assert sorted(driver.state["modules"]) == ["nvidia", "nvidia_drm", "nvidia_modeset"]


def test_other_modules_are_not_the_stand_ins(
    driver: Driver, capsys: pytest.CaptureFixture[str]
) -> None:
    assert driver.run("modprobe", "zfs") == 1
    assert "FATAL: Module zfs not found in directory /lib/modules/" in capsys.readouterr().err


def test_the_module_on_disk_is_newer_where_the_versions_do_not_match(
    driver: Driver, capsys: pytest.CaptureFixture[str]
) -> None:
    driver.run("modinfo", "-F", "version", "nvidia")
    driver.breaks("driver-mismatch")
    driver.run("modinfo", "-F", "version", "nvidia")
    assert capsys.readouterr().out.split() == ["580.126.09", "580.142"]


def test_memory_that_hangs_on_uvm_goes_with_its_module(driver: Driver) -> None:
    driver.breaks("release-after-uvm-reload")
    assert driver.has(f"proc/driver/nvidia-uvm/gpus/{UUIDS[0]}/0/info")
    driver.run("modprobe", "-r", "nvidia_uvm")
    driver.run("modprobe", "nvidia_uvm")
    assert not driver.has("proc/driver/nvidia-uvm")
    assert driver.state["failures"] == {}


def test_the_tree_is_left_alone_while_nothing_changes(driver: Driver) -> None:
    path = driver.root / "gpu/kernel/nodes.json"
    before = path.stat().st_ino
    driver.look()
    assert path.stat().st_ino == before
    assert stat.S_ISREG(path.stat().st_mode)


def test_every_kernel_line_of_a_scenario_has_a_time_and_the_kernels_name(driver: Driver) -> None:
    state = gpu.initial("test/pve1", 1)
    logs: list[Callable[..., Any]] = [one.log for one in breakage.SCENARIOS.values()]
    for text in (text for log in logs for text in log(state)):
        assert text.startswith("NVRM: ")


def test_one_that_looks_waits_for_the_other(driver: Driver, tmp_path: Path) -> None:
    """The node's own and `break`'s: one would remove what the other is about to put in place."""
    where = [str(tmp_path / name) for name in ("gpu", "proc", "cgroup")]
    script = f"from stoker.sandbox.node.gpu_observer import Observer; Observer(*{where}).look()"
    with (tmp_path / "gpu/observer.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        other = subprocess.Popen([sys.executable, "-c", script])
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(timeout=1)
        fcntl.flock(lock, fcntl.LOCK_UN)
    assert other.wait(timeout=20) == 0
