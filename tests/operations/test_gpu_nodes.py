import os
import shutil
import stat
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stoker.container.devices import BOOT_UNIT
from stoker.facts.files import FileState, FileStates
from stoker.facts.gpu_nodes import SCRIPT, GpuNodesLacking
from stoker.facts.timers import Timer, TimerState
from stoker.operations import gpu_nodes
from tests.operations.hosts import FakeHost, here, words

ENABLED = TimerState(known=True, enabled=True, active=True)
needs_mknod = pytest.mark.skipif(os.geteuid() != 0, reason="makes device nodes")


def facts(lacking: str = "", unit: TimerState = ENABLED) -> dict[Any, Any]:
    """Of a node that has the unit."""
    files = gpu_nodes.files()
    return {
        Timer: unit,
        FileStates: {str(f.path): FileState(f.sha256, f.mode, "root:root") for f in files},
        GpuNodesLacking: lacking,
    }


def present(there: dict[Any, Any]) -> tuple[list[str], list[str]]:
    with here(there) as host:
        return words(gpu_nodes.present._inner()), host.noops


def test_a_node_that_has_it_and_lacks_nothing_is_no_change() -> None:
    assert present(facts()) == ([], ["the GPUs' device nodes are there, and will be after a boot"])


def test_the_script_is_there_before_the_unit_and_the_unit_before_it_is_enabled() -> None:
    told, _ = present({GpuNodesLacking: ""})
    assert [line for line in told if line.startswith(("upload", "systemctl"))] == [
        "upload /usr/local/lib/stoker/gpu_nodes.sh.stoker-new",
        "upload /usr/local/lib/systemd/system/stoker-gpu-nodes.service.stoker-new",
        "systemctl daemon-reload",
        "systemctl enable --quiet stoker-gpu-nodes.service",
    ]


def test_it_is_started_at_once_where_a_node_is_missing_now() -> None:
    told, _ = present(facts("/dev/nvidia-uvm is not the device 511:0"))
    assert told == ["started []"]


@pytest.mark.parametrize("lacking", ["", "/dev/nvidia0 cannot be made"])
def test_what_lacks_after_that_is_told_and_fails_nobody(lacking: str) -> None:
    host = FakeHost({GpuNodesLacking: lacking})
    assert gpu_nodes.started(None, host)
    assert host.done == ["systemctl restart --quiet stoker-gpu-nodes.service"]
    assert host.said == [
        f"not every GPU can be passed to containers: {what}; see journalctl -u {BOOT_UNIT}"
        for what in [lacking]
        if what
    ]


@pytest.mark.parametrize("changed", [{"enabled": False}, {"needs_reload": True}])
def test_a_run_that_died_half_way_is_healed(changed: dict[str, bool]) -> None:
    told, _ = present(facts(unit=replace(ENABLED, **changed)))
    assert told
    assert not [line for line in told if line.startswith("upload")]


def test_what_lacks_is_read_from_the_script_itself() -> None:
    line = (
        "cannot pass every GPU to containers: /dev/nvidia0 is not the device 195:0; the module "
        "nvidia_uvm is not loaded; then: systemctl restart stoker-gpu-nodes"
    )
    assert GpuNodesLacking().process([line, "ended 1"]) == (
        "/dev/nvidia0 is not the device 195:0; the module nvidia_uvm is not loaded"
    )
    assert GpuNodesLacking().process(["ended 0"]) == ""
    assert GpuNodesLacking().process(["ended 3"]) is None
    assert "no answer" in (GpuNodesLacking().process(["ended 124"]) or "")


def test_a_node_without_a_gpu_is_left_alone() -> None:
    assert present({GpuNodesLacking: None}) == ([], ["the node has no GPU for containers"])


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / BOOT_UNIT
    unit.write_text(gpu_nodes.files()[1].text.replace("/usr/local/lib/stoker", str(tmp_path)))
    (tmp_path / "gpu_nodes.sh").write_text(SCRIPT)
    (tmp_path / "gpu_nodes.sh").chmod(0o755)
    ran = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True
    )
    assert [line for line in ran.stderr.splitlines() if BOOT_UNIT in line] == []


def test_guests_wait_for_the_unit_and_none_requires_it() -> None:
    text = gpu_nodes.files()[1].text
    assert "Before=pve-guests.service" in text
    assert "WantedBy=multi-user.target pve-guests.service" in text
    assert "Required" not in text
    assert "TimeoutStartSec=" in text


class Tree:
    """The root of a node with a loaded driver and no nodes."""

    def __init__(self, root: Path, minors: tuple[int, ...] = (0, 1)) -> None:
        self.root = root
        self.put("proc/devices", "Character devices:\n195 nvidia\n511 nvidia-uvm\n236 nvidia-caps")
        for module in ("nvidia", "nvidia_uvm"):
            (root / "sys/module" / module).mkdir(parents=True)
        for minor in minors:
            path = f"proc/driver/nvidia/gpus/0000:0{minor}:00.0/information"
            self.put(path, f"Model: \t x\nDevice Minor: \t {minor}\n")
            self.slot(f"0000:0{minor}:00.0")
        self.put("proc/driver/nvidia/params", "ModifyDeviceFiles: 1\nDeviceFileMode: 438\n")
        capability = "DeviceFileMinor: 1\nDeviceFileMode: 256\n"
        self.put("proc/driver/nvidia/capabilities/mig/config", capability)
        (root / "dev").mkdir()
        # Without nvidia-modprobe and nvidia-smi, which this machine may have.
        (root / "bin").mkdir()
        for name in (
            *("sh", "sed", "head", "grep", "stat", "timeout", "mkdir", "rm", "mknod", "chown"),
            *("mv", "find", "date", "flock", "tr", "tail", "readlink"),
        ):
            (root / "bin" / name).symlink_to(str(shutil.which(name)))

    def put(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def slot(self, address: str, driver: str = "nvidia") -> None:
        """A GPU on the bus, whoever has it."""
        self.put(f"sys/bus/pci/devices/{address}/vendor", "0x10de\n")
        self.put(f"sys/bus/pci/devices/{address}/class", "0x030200\n")
        link = self.root / f"sys/bus/pci/devices/{address}/driver"
        link.symlink_to(f"../../../../bus/pci/drivers/{driver}")

    def program(self, name: str, text: str) -> None:
        self.put(f"bin/{name}", f"#!/bin/sh\n{text}\n")
        (self.root / "bin" / name).chmod(0o755)

    def run(self, what: str = "make") -> tuple[int, str]:
        """Exit code and what it says."""
        ran = subprocess.run(
            ["sh", "-c", SCRIPT, "sh", what, str(self.root)],
            env={"PATH": str(self.root / "bin")},
            capture_output=True,
            text=True,
        )
        assert ran.stdout == ""
        return ran.returncode, ran.stderr.replace(str(self.root), "")

    def nodes(self) -> dict[str, tuple[int, int, str]]:
        """Numbers and mode by name."""
        found = {}
        for path in (self.root / "dev").rglob("*"):
            status = path.stat()
            if stat.S_ISCHR(status.st_mode):
                number = os.major(status.st_rdev), os.minor(status.st_rdev)
                found[path.name] = (*number, f"{status.st_mode & 0o777:o}")
        return found


EVERY = {
    "nvidia0": (195, 0, "666"),
    "nvidia1": (195, 1, "666"),
    "nvidiactl": (195, 255, "666"),
    "nvidia-uvm": (511, 0, "666"),
    "nvidia-uvm-tools": (511, 1, "666"),
    "nvidia-cap1": (236, 1, "400"),
}


@needs_mknod
def test_every_node_is_made_with_the_numbers_of_today(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    assert tree.run() == (0, "")
    assert tree.nodes() == EVERY
    assert tree.run("check") == (0, "")


@needs_mknod
def test_a_lock_that_cannot_be_opened_keeps_no_node_away(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    (tmp_path / "run/lock/stoker/gpu.lock").mkdir(parents=True)
    assert tree.run()[0] == 0
    assert tree.nodes() == EVERY


@needs_mknod
def test_an_old_number_and_an_empty_file_are_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.run()
    kept = (tmp_path / "dev/nvidia0").stat().st_ino
    tree.put("proc/devices", "Character devices:\n195 nvidia\n508 nvidia-uvm\n236 nvidia-caps\n")
    (tmp_path / "dev/nvidia1").unlink()
    (tmp_path / "dev/nvidia1").touch()
    assert tree.run("check") == (
        1,
        "cannot pass every GPU to containers: /dev/nvidia1 is not the device 195:1; "
        "/dev/nvidia-uvm is not the device 508:0; /dev/nvidia-uvm-tools is not the device 508:1; "
        "then: systemctl restart stoker-gpu-nodes\n",
    )
    assert tree.run() == (0, "")
    assert tree.nodes() == EVERY | {
        "nvidia-uvm": (508, 0, "666"),
        "nvidia-uvm-tools": (508, 1, "666"),
    }
    assert (tmp_path / "dev/nvidia0").stat().st_ino == kept


@needs_mknod
def test_a_file_that_somebody_wrote_to_is_left_and_told(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.put("dev/nvidia0", "a weight that was copied to the wrong place")
    code, said = tree.run()
    assert (code, said) == (
        1,
        "cannot pass every GPU to containers: /dev/nvidia0 is no device and not empty, look at it "
        "and take it away; then: systemctl restart stoker-gpu-nodes\n",
    )
    assert set(tree.nodes()) == set(EVERY) - {"nvidia0"}


@needs_mknod
def test_the_modes_are_those_that_the_driver_was_told(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.put(
        "proc/driver/nvidia/params", "DeviceFileUID: 0\nDeviceFileGID: 44\nDeviceFileMode: 432\n"
    )
    assert tree.run() == (0, "")
    assert tree.nodes()["nvidia0"] == (195, 0, "660")
    assert (tmp_path / "dev/nvidia0").stat().st_gid == 44


@needs_mknod
def test_nvidias_own_program_makes_them_where_it_is(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.program("nvidia-modprobe", f'echo "$@" >> {tmp_path}/asked')
    assert tree.run() == (0, "")
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[:4] == ["-c 0", "-c 1", "-c 255", "-u -c 0"]
    assert tree.nodes() == EVERY  # what it did not make is made all the same


def test_a_module_that_cannot_be_loaded_is_told_with_its_words(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    shutil.rmtree(tmp_path / "sys/module/nvidia")
    tree.program("modprobe", 'echo "modprobe: FATAL: Module $1 not found." >&2; exit 1')
    assert tree.run() == (
        1,
        "cannot pass every GPU to containers: the module nvidia cannot be loaded (modprobe: FATAL: "
        "Module nvidia not found.); then: systemctl restart stoker-gpu-nodes\n",
    )
    assert "the module nvidia is not loaded" in tree.run("check")[1]


@needs_mknod
def test_a_gpu_that_nvidia_smi_cannot_ask_is_told_and_the_nodes_are_there(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.program("nvidia-smi", "echo 'Unable to determine the device handle'; exit 9")
    code, said = tree.run()
    assert code == 1
    assert "nvidia-smi -L fails (Unable to determine the device handle)" in said
    assert tree.nodes() == EVERY


def test_a_check_changes_nothing(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    assert tree.run("check")[0] == 1
    assert list((tmp_path / "dev").iterdir()) == []
    assert not (tmp_path / "run").exists()


def test_a_gpu_of_a_vm_is_nobodys_business(tmp_path: Path) -> None:
    tree = Tree(tmp_path, minors=())
    tree.slot("0000:41:00.0", "vfio-pci")
    assert tree.run() == tree.run("check") == (3, "")
    assert list((tmp_path / "dev").iterdir()) == []


@needs_mknod
def test_a_gpu_that_the_driver_did_not_take_is_named_and_the_others_get_nodes(
    tmp_path: Path,
) -> None:
    tree = Tree(tmp_path)
    tree.slot("0000:61:00.0")
    said = "the driver did not take the GPU 0000:61:00.0, see dmesg | grep NVRM\n"
    assert tree.run() == (0, said)
    assert tree.nodes() == EVERY
    assert tree.run("check") == (0, "")
