"""The stand-in nvidia-smi, on a node made of a directory, with real device files held open.

/dev/full stands for nvidia0 and /dev/zero for nvidiactl: what is compared are device numbers.
"""

import ast
import os
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stoker.sandbox import breakage, gpu
from stoker.sandbox.node import gpu_memory, nvidia_smi

Said = tuple[int, str]
NUMBERS = {"nvidia0": "full", "nvidia1": "urandom", "nvidiactl": "zero", "nvidia-uvm": "tty"}


def _number(path: Path) -> list[int]:
    rdev = path.stat().st_rdev
    return [os.major(rdev), os.minor(rdev)]


@dataclass
class FakeNode:
    """A node's directories and its GPU state."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    def state(self) -> dict[str, Any]:
        return gpu.read(self.root / "gpu/state.json")

    def change(self, **changes: Any) -> None:
        gpu.write(self.root / "gpu/state.json", self.state() | changes)

    def breaks(self, name: str) -> None:
        state = self.state()
        self.change(failures=state["failures"] | breakage.SCENARIOS[name][1](state))

    def process(self, pid: int, *devices: str, thread: int | None = None) -> None:
        table = self.root / f"proc/{pid}/task/{thread or pid}/fd"
        table.mkdir(parents=True)
        (self.root / f"proc/{pid}/cmdline").write_bytes(b"/opt/v/bin/python3\0-m\0sglang\0")
        for number, device in enumerate(devices):
            (table / str(number)).symlink_to(f"/dev/{NUMBERS[device]}")

    def ends(self, pid: int) -> None:
        shutil.rmtree(self.root / f"proc/{pid}")

    def smi(self, *words: str) -> Said:
        directories = [str(self.root / name) for name in ("gpu", "proc", "dev", "cgroup")]
        code = nvidia_smi.main(words, *directories)
        return code, self.capsys.readouterr().out.rstrip("\n")

    def used(self) -> list[int]:
        fields = ("--query-gpu=memory.used", "--format=csv,noheader,nounits")
        return [int(line) for line in self.smi(*fields)[1].splitlines()]


@pytest.fixture
def node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> FakeNode:
    for name in ("gpu", "proc", "dev", "cgroup"):
        (tmp_path / name).mkdir()
    for name, device in NUMBERS.items():
        (tmp_path / "dev" / name).symlink_to(f"/dev/{device}")
    numbers = {name: _number(Path("/dev", device)) for name, device in NUMBERS.items()}
    gpu.write(tmp_path / "gpu/state.json", gpu.initial("test/pve1", 2) | {"nodes": numbers})
    return FakeNode(tmp_path, capsys)


def test_it_lists_gpus_with_uuids_that_stay(node: FakeNode) -> None:
    code, text = node.smi("-L")
    uuids = [one["uuid"] for one in gpu.initial("test/pve1", 2)["gpus"]]
    name = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
    assert (code, text) == (
        0,
        f"GPU 0: {name} (UUID: {uuids[0]})\nGPU 1: {name} (UUID: {uuids[1]})",
    )


def test_fields_come_with_header_and_units_unless_told_otherwise(node: FakeNode) -> None:
    words = ["--query-gpu=index,pci.bus_id,memory.total,driver_version", "--format"]
    assert node.smi(*words, "csv", "-i", "1") == (
        0,
        "index, pci.bus_id, memory.total [MiB], driver_version\n"
        "1, 00000000:11:00.0, 97887 MiB, 580.126.09",
    )
    assert node.smi(*words, "csv,noheader,nounits", "-i", "0")[1].endswith(", 97887, 580.126.09")


def test_one_unknown_field_fails_the_whole_query(node: FakeNode) -> None:
    code, text = node.smi("--query-gpu=index,nosuch", "--format=csv")
    assert (code, text) == (2, 'Field "nosuch" is not a valid field to query.')


def test_an_unknown_option_is_refused(node: FakeNode) -> None:
    assert node.smi("--nosuch")[0] == 2


def test_only_a_process_that_has_the_gpus_node_open_uses_its_memory(node: FakeNode) -> None:
    node.process(10, "nvidia0", "nvidiactl")
    node.process(11, "nvidiactl")
    words = ["--query-compute-apps=pid,process_name,used_gpu_memory", "--format=csv,noheader"]
    assert node.smi(*words) == (0, "10, /opt/v/bin/python3, 20480 MiB")
    assert node.used() == [20482, 2]


def test_a_thread_that_outlived_its_leader_is_a_holder(node: FakeNode) -> None:
    node.process(10, "nvidia1", thread=12)
    assert node.used() == [2, 20482]


def test_a_regular_file_of_that_name_is_no_gpu(node: FakeNode) -> None:
    (node.root / "dev/nvidia0").unlink()
    (node.root / "dev/nvidia0").write_text("")
    assert node.smi("--query-gpu=index", "--format=csv,noheader") == (0, "1")


def test_without_the_control_node_the_driver_cannot_be_reached(node: FakeNode) -> None:
    (node.root / "dev/nvidiactl").unlink()
    code, text = node.smi("-L")
    assert code == 9
    assert text.startswith("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA")


@pytest.mark.parametrize(
    ("scenario", "code", "words"),
    [
        ("driver-not-loaded", 9, "couldn't communicate with the NVIDIA driver."),
        ("driver-library-missing", 12, "couldn't find libnvidia-ml.so library in your system."),
        ("driver-mismatch", 18, "Failed to initialize NVML: Driver/library version mismatch"),
        ("no-devices", 6, "No devices were found"),
        ("gpu-lost", 15, "GPU is lost.  Reboot the system to recover this GPU"),
        ("gpu-unknown-error", 255, "device handle for GPU0000:01:00.0: Unknown Error"),
    ],
)
def test_a_broken_driver_answers_as_the_real_one(
    node: FakeNode, scenario: str, code: int, words: str
) -> None:
    node.breaks(scenario)
    said = node.smi("--query-gpu=index", "--format=csv")
    assert said[0] == code and words in said[1]


def test_a_gpu_that_is_not_lost_still_answers_when_asked_for_alone(node: FakeNode) -> None:
    node.breaks("gpu-lost")
    assert node.smi("--query-gpu=index", "--format=csv,noheader", "-i", "1") == (0, "1")


def test_a_gpu_that_requires_a_reset_tells_only_who_it_is(node: FakeNode) -> None:
    node.breaks("gpu-requires-reset")
    code, text = node.smi("--query-gpu=index,memory.used", "--format=csv,noheader")
    assert (code, text.splitlines()[0]) == (0, "0, [GPU requires reset]")


def test_late_memory_comes_back_after_its_time_and_not_before(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    clock: Callable[[], float] = lambda: now[0]  # noqa: E731
    monkeypatch.setattr(gpu_memory.time, "time", clock)
    node.breaks("late-release")
    seen = [node.used()[0]]
    for now[0] in (1039.0, 1041.0):
        seen.append(node.used()[0])
    assert seen == [91002, 91002, 2]


def test_memory_that_waits_for_the_container_goes_with_its_cgroup(node: FakeNode) -> None:
    (node.root / "cgroup/lxc/200").mkdir(parents=True)
    node.breaks("release-after-container-stop")
    assert node.used() == [91002, 2]
    (node.root / "cgroup/lxc/200").rmdir()
    assert node.used() == [2, 2]


def test_a_persistence_bounce_frees_what_waits_for_it(node: FakeNode) -> None:
    node.breaks("release-after-persistence-bounce")
    assert node.used() == [91002, 2]
    assert node.smi("-i", "0", "-pm", "0")[1].startswith("Disabled persistence mode for GPU")
    assert node.used() == [2, 2]


def test_late_memory_counts_from_its_last_holder_and_stays_gone_under_a_new_one(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(gpu_memory.time, "time", lambda: now[0])
    node.breaks("late-release")
    node.process(10, "nvidia0")
    seen = []
    for now[0] in (1100.0, 1200.0):
        seen.append(node.used()[0])
    node.ends(10)
    for now[0] in (1300.0, 1339.0, 1341.0):
        seen.append(node.used()[0])
    node.process(11, "nvidia0")
    seen.append(node.used()[0])
    assert seen == [91002, 91002, 91002, 91002, 2, 20482]


def test_a_persistence_bounce_of_another_gpu_or_under_a_holder_frees_nothing(
    node: FakeNode,
) -> None:
    node.breaks("release-after-persistence-bounce")
    node.smi("-i", "1", "-pm", "0")
    assert node.used() == [91002, 2]
    node.process(10, "nvidia0")
    node.smi("-i", "0", "-pm", "0")
    node.ends(10)
    assert node.used() == [91002, 2]
    assert "already Disabled" in node.smi("-i", "0", "-pm", "0")[1]


def test_a_reset_is_not_refused_for_a_holder_of_another_gpu(node: FakeNode) -> None:
    node.process(10, "nvidia1", "nvidiactl")
    assert node.smi("-r", "-i", "0")[0] == 0
    assert node.smi("-r", "-i", "1")[0] == 255


def test_a_reset_is_logged_where_it_changes_what_the_gpu_asks_for(node: FakeNode) -> None:
    node.breaks("gpu-requires-reset")
    uuid = node.state()["gpus"][0]["uuid"]
    document = node.smi("-i", uuid, "-q", "-x")[1]
    assert document.count("<gpu id=") == 1
    assert "<gpu_recovery_action>Reset</gpu_recovery_action>" in document
    node.smi("-r", "-i", uuid)
    assert node.state()["kernel_log"][-1].endswith("from 0x1 (GPU Reset Required) to 0x0 (None)")


def test_a_container_sees_memory_that_holders_outside_it_use(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.process(10, "nvidia0")
    assert node.used()[0] == 20482
    # In a container the directory is read-only and the holder is not in its /proc.
    monkeypatch.setattr(gpu_memory.gpu_state, "writable", lambda directory: False)
    node.ends(10)
    assert node.used()[0] == 20482


def test_a_reset_is_refused_while_anyone_holds_a_node(node: FakeNode) -> None:
    node.process(10, "nvidiactl")
    code, text = node.smi("-r", "-i", "0")
    assert code == 255 and "In use by another client" in text


def test_a_reset_frees_memory_that_nothing_else_does(node: FakeNode) -> None:
    node.breaks("never-release")
    assert node.used() == [91002, 2]
    assert node.smi("-r", "-i", "0")[1].startswith("GPU 00000000:01:00.0 was successfully reset.")
    assert node.used() == [2, 2]


def test_a_reset_that_leaves_the_memory_still_says_success(node: FakeNode) -> None:
    node.breaks("reset-leaves-memory")
    assert node.smi("-r", "-i", "0")[0] == 0
    assert node.used() == [91002, 2]


def test_the_xml_document_parses_and_escapes(node: FakeNode) -> None:
    node.process(10, "nvidia0")
    (node.root / "proc/10/cmdline").write_bytes(b"/x/<a>&b\0")
    root = ElementTree.fromstring(node.smi("-q", "-x")[1])
    assert [one.findtext("minor_number") for one in root.iter("gpu")] == ["0", "1"]
    assert root.findtext("gpu/processes/process_info/process_name") == "/x/<a>&b"
    assert root.findtext("gpu/fb_memory_usage/used") == "20482 MiB"


def test_every_scenario_changes_the_failures_of_a_healthy_node() -> None:
    for name, scenario in breakage.SCENARIOS.items():
        assert scenario.failures(gpu.initial("test/pve1", 1)), name


def test_what_runs_on_a_node_is_python_3_9() -> None:
    for source in Path(nvidia_smi.__file__).parent.glob("*.py"):
        ast.parse(source.read_text(), feature_version=(3, 9))
