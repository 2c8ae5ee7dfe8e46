"""One look at a node, on trees that look like one."""

import dataclasses
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stoker.health.seen import Seen
from stoker.recovery import nvidia_smi
from stoker.recovery.__main__ import main
from stoker.recovery.looking import look
from stoker.recovery.machine import Machine

from . import trees

DEVICES = "dev0: /dev/nvidia0,mode=0666\ndev1: /dev/nvidiactl,mode=0666\n"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A node with a loaded driver and two GPUs, and an nvidia-smi that answers."""
    trees.loaded(tmp_path)
    for number in range(2):
        trees.gpu(tmp_path, number)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    trees.smi(tmp_path / "bin", f"cat <<'END'\n{trees.document(2, 3)}\nEND")
    return trees.machine(tmp_path)


def test_driver_and_gpus_are_named(node: Machine) -> None:
    seen = look(node)
    assert seen.boot_id == "boot-1"
    assert (seen.driver.version, seen.driver.open) == (trees.VERSION, True)
    assert seen.driver.majors == {"nvidia": 195, "nvidiactl": 195, "nvidia-uvm": 511}
    assert seen.driver.modules == {"nvidia": 3, "nvidia_uvm": 0}
    assert seen.driver.smi.state == "ok"
    first = seen.gpus[0]
    assert (first.uuid, first.bdf, first.minor, first.index) == (
        "GPU-00000000",
        "0000:01:00.0",
        0,
        0,
    )
    assert (first.used_mib, first.reserved_mib, first.total_mib) == (2, 638, 97887)
    assert (first.binding, first.off_bus, first.persistence) == ("nvidia", False, True)
    assert seen.completeness.complete


def test_a_look_survives_json(node: Machine) -> None:
    seen = look(node)
    assert json.loads(json.dumps(dataclasses.asdict(seen)))["gpus"][1]["uuid"] == "GPU-00000001"


@pytest.mark.scenario("L30")
def test_without_a_driver_nvidia_smi_is_not_started(tmp_path: Path, node: Machine) -> None:
    trees.smi(tmp_path / "bin", f"touch {tmp_path}/started")
    (tmp_path / "driver/sys/module/nvidia/version").unlink()
    seen = look(node)
    assert (seen.driver.version, seen.driver.smi.state) == ("", "skipped")
    assert not (tmp_path / "started").exists()


def test_it_is_not_asked_when_that_is_not_wanted(tmp_path: Path, node: Machine) -> None:
    trees.smi(tmp_path / "bin", f"touch {tmp_path}/started")
    assert look(node, smi=False).driver.smi.text == "not asked for"
    assert not (tmp_path / "started").exists()


@pytest.mark.scenario("P9")
def test_a_gpu_that_nvidia_smi_does_not_list_is_still_named(tmp_path: Path, node: Machine) -> None:
    trees.smi(tmp_path / "bin", f"cat <<'END'\n{trees.document(2)}\nEND")
    first, second = look(node).gpus
    assert (first.used_mib, first.index) == (2, 0)
    assert (second.uuid, second.used_mib, second.index) == ("GPU-00000001", None, None)
    assert second.over_baseline is None


def test_a_gpu_that_could_not_be_opened_says_so(tmp_path: Path, node: Machine) -> None:
    message = "Unable to determine the device handle for GPU0000:11:00.0: GPU is lost"
    trees.smi(tmp_path / "bin", f"echo '{message}'; exit 15")
    seen = look(node)
    assert seen.driver.smi.state == "lost"
    assert [gpu.error for gpu in seen.gpus] == ["", "GPU is lost"]


@pytest.mark.scenario("S21")
def test_a_gpu_of_a_vm_is_told_and_not_looked_into(tmp_path: Path, node: Machine) -> None:
    trees.gpu(tmp_path, 2, binding="vfio-pci", config=b"\xff" * 64)
    third = look(node).gpus[2]
    assert (third.bdf, third.uuid, third.minor) == ("0000:21:00.0", "", None)
    assert (third.binding, third.off_bus) == ("vfio-pci", False)


def test_a_gpu_whose_registers_are_all_ones_is_off_the_bus(tmp_path: Path, node: Machine) -> None:
    config = tmp_path / "driver/sys/bus/pci/devices/0000:01:00.0/config"
    config.write_bytes(b"\xff" * 64)
    assert [gpu.off_bus for gpu in look(node).gpus] == [True, False]


def test_a_gpu_the_driver_has_and_the_bus_has_not_is_off_it(tmp_path: Path, node: Machine) -> None:
    (tmp_path / "driver/sys/bus/pci/devices/0000:01:00.0/vendor").unlink()
    assert look(node).gpus[0].off_bus


def test_a_gpu_not_yet_initialised_has_no_uuid(tmp_path: Path, node: Machine) -> None:
    path = tmp_path / "driver/proc/driver/nvidia/gpus/0000:01:00.0/information"
    path.write_text(path.read_text().replace("GPU-00000000", "GPU-????????-????"))
    assert look(node, smi=False).gpus[0].uuid == ""
    assert look(node).gpus[0].uuid == "GPU-00000000"


def test_what_uvm_keeps_is_counted(tmp_path: Path, node: Machine) -> None:
    info = "GPU GPU-00000001: (3)\nretained_count                         2\n"
    trees.write(tmp_path / "driver/proc/driver/nvidia-uvm/gpus/GPU-00000001/0/info", info)
    assert [gpu.uvm_retained for gpu in look(node).gpus] == [None, 2]


def test_xids_of_the_kernels_log_are_told(tmp_path: Path, node: Machine) -> None:
    line = "1700000001.5 pve1 kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=7, name=python3, gone\n"
    trees.write(tmp_path / "driver/kernel.log", line)
    (xid,) = look(node).xids
    assert (xid.number, xid.bdf, xid.pid, xid.time) == (79, "0000:01:00.0", 7, 1700000001.5)


class TestBaseline:
    """How much a GPU without a holder uses."""

    def test_until_it_is_learned_it_is_a_guess(self, node: Machine) -> None:
        gpu = look(node, learn=False).gpus[0]
        assert (gpu.baseline_mib, gpu.baseline_learned) == (1024, False)
        assert not Path(node.state, "gpu-baseline.json").exists()

    def test_the_least_ever_seen_is_kept(self, tmp_path: Path, node: Machine) -> None:
        gpu = look(node).gpus[1]
        assert (gpu.baseline_mib, gpu.baseline_learned) == (3 + 256, True)
        trees.smi(tmp_path / "bin", f"cat <<'END'\n{trees.document(900, 1)}\nEND")
        assert [gpu.baseline_mib for gpu in look(node).gpus] == [2 + 256, 1 + 256]
        told = json.loads(Path(node.state, "gpu-baseline.json").read_text())
        assert told == {"GPU-00000000": {trees.VERSION: 2}, "GPU-00000001": {trees.VERSION: 1}}

    def test_what_is_above_the_guess_is_never_learned(self, tmp_path: Path, node: Machine) -> None:
        trees.smi(tmp_path / "bin", f"cat <<'END'\n{trees.document(20480, 1025)}\nEND")
        seen = look(node)
        assert [gpu.baseline_learned for gpu in seen.gpus] == [False, False]
        assert [gpu.over_baseline for gpu in seen.gpus] == [True, True]

    def test_nothing_is_learned_from_a_scan_with_gaps(self, tmp_path: Path, node: Machine) -> None:
        trees.write(tmp_path / "proc/77/stat", "nonsense")
        seen = look(node)
        assert not seen.completeness.complete
        assert not seen.gpus[0].baseline_learned

    def test_a_file_that_is_broken_is_learned_anew(self, node: Machine) -> None:
        path = Path(node.state, "gpu-baseline.json")
        for text in ("", "[]", '{"GPU-00000000": 3}', '{"GPU-00000000": {"580": "x"}}', "{"):
            path.write_text(text)
            assert look(node).gpus[0].baseline_mib == 2 + 256

    def test_a_disk_that_is_full_keeps_nobody_from_looking(
        self, node: Machine, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_text("")
        blocked = dataclasses.replace(node, state=f"{tmp_path}/file/state")
        assert look(blocked).gpus[0].baseline_mib == 2 + 256


class TestNvidiaSmi:
    """nvidia-smi, which may hang."""

    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(nvidia_smi, "LIMIT_S", 0.2)

    def test_one_that_does_not_answer_is_ended_and_the_gpus_are_named(
        self, tmp_path: Path, node: Machine
    ) -> None:
        trees.smi(tmp_path / "bin", f"echo $$ > {tmp_path}/pid; exec sleep 30")
        seen = look(node)
        assert seen.driver.smi.state == "hung"
        assert [gpu.uuid for gpu in seen.gpus] == ["GPU-00000000", "GPU-00000001"]
        assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()
        assert not Path(node.run, "smi.json").exists()

    def test_while_one_of_ours_hangs_no_second_is_started(
        self, tmp_path: Path, node: Machine
    ) -> None:
        trees.smi(tmp_path / "bin", f"touch {tmp_path}/started")
        trees.process(tmp_path, 4242, state="D", start=555)
        Path(node.run, "smi.json").write_text('{"pid": 4242, "start_ticks": 555}')
        seen = look(node)
        assert seen.driver.smi.state == "skipped"
        assert "4242" in seen.driver.smi.text
        assert not (tmp_path / "started").exists()

    @pytest.mark.parametrize(
        ("start", "state"), [(556, "D"), (555, "Z")], ids=["another process", "it has ended"]
    )
    def test_a_pid_that_is_another_process_now_stops_nobody(
        self, tmp_path: Path, node: Machine, start: int, state: str
    ) -> None:
        trees.process(tmp_path, 4242, state=state, start=start)
        Path(node.run, "smi.json").write_text('{"pid": 4242, "start_ticks": 555}')
        assert look(node).driver.smi.state == "ok"

    def test_a_reset_left_to_itself_stops_it_too(self, tmp_path: Path, node: Machine) -> None:
        trees.process(tmp_path, 4242, state="D", start=555)
        told = [{"pid": 4242, "start_ticks": 555, "words": ["nvidia-smi", "-r"], "driver": True}]
        Path(node.run, "abandoned.json").write_text(json.dumps(told))
        assert "nvidia-smi -r" in look(node).driver.smi.text

    def test_a_program_that_is_not_there_is_missing(
        self, node: Machine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        assert look(node).driver.smi.state == "missing"

    def test_it_is_written_down_while_it_runs(
        self, tmp_path: Path, node: Machine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(nvidia_smi, "LIMIT_S", 20)
        record = f"{node.run}/smi.json"
        wait = f"until grep -q pid {record}; do sleep 0.01; done"
        trees.smi(tmp_path / "bin", f"{wait}; cp {record} {tmp_path}/told")
        look(node)
        told = json.loads((tmp_path / "told").read_text() or "{}")
        assert set(told) == {"pid", "start_ticks", "since"}


class TestContainers:
    """Containers by their configuration and their cgroup."""

    def test_one_that_runs(self, tmp_path: Path, node: Machine) -> None:
        trees.container(tmp_path, 200, f"hostname: llm\nunprivileged: 1\n{DEVICES}", init=900)
        (ct,) = look(node).containers
        assert (ct.vmid, ct.name, ct.state, ct.init_pid) == (200, "llm", "running", 900)
        assert (ct.unprivileged, ct.template, ct.lock, ct.ha, ct.raw) == (
            True,
            False,
            "",
            False,
            False,
        )
        assert ct.gpus == ("GPU-00000000",)

    def test_gpus_are_told_in_the_order_of_the_bus(self, tmp_path: Path, node: Machine) -> None:
        trees.container(tmp_path, 200, "dev3: /dev/nvidia0\ndev1: /dev/nvidia1\n")
        assert look(node).containers[0].gpus == ("GPU-00000000", "GPU-00000001")

    def test_one_that_is_stopped(self, tmp_path: Path, node: Machine) -> None:
        trees.container(tmp_path, 200, DEVICES, populated=False)
        trees.write(tmp_path / "pve/lxc/201.conf", "hostname: never-started\n")
        assert [ct.state for ct in look(node).containers] == ["stopped", "stopped"]

    @pytest.mark.parametrize(
        ("file", "text"),
        [
            ("cgroup.freeze", "1\n"),
            ("ns/cgroup.freeze", "1\n"),
            ("ns/cgroup.events", "populated 1\nfrozen 1\n"),
        ],
    )
    def test_one_that_is_frozen(self, tmp_path: Path, node: Machine, file: str, text: str) -> None:
        trees.container(tmp_path, 200, DEVICES)
        (tmp_path / "cgroup/lxc/200" / file).write_text(text)
        assert look(node).containers[0].state == "frozen"

    def test_lock_template_and_snapshots(self, tmp_path: Path, node: Machine) -> None:
        trees.container(tmp_path, 200, "lock: backup\n\n[before]\nlock: snapshot\ntemplate: 1\n")
        (ct,) = look(node).containers
        assert (ct.lock, ct.template) == ("backup", False)

    def test_what_ha_manages(self, tmp_path: Path, node: Machine) -> None:
        for vmid in (200, 201, 202):
            trees.container(tmp_path, vmid, "hostname: x\n")
        resources = "ct: 200\n\tstate started\n\nvm: 202\n\nct: 201\n\tstate ignored\n"
        trees.write(tmp_path / "pve/ha/resources.cfg", resources)
        assert [ct.ha for ct in look(node).containers] == [True, False, False]

    def test_the_nodes_own_folder_serves_where_the_link_is_missing(
        self, tmp_path: Path, node: Machine
    ) -> None:
        name = os.uname().nodename.split(".")[0]
        trees.write(tmp_path / f"pve/nodes/{name}/lxc/200.conf", "hostname: x\n")
        trees.write(tmp_path / "pve/nodes/another/lxc/300.conf", "hostname: y\n")
        assert [ct.vmid for ct in look(node).containers] == [200]

    def test_a_missing_node_is_a_problem(self, tmp_path: Path, node: Machine) -> None:
        trees.container(tmp_path, 200, DEVICES)
        assert any("/dev/nvidia0" in problem for problem in look(node).containers[0].problems)

    def test_the_init_process_is_the_one_that_is_number_1(
        self, tmp_path: Path, node: Machine
    ) -> None:
        trees.container(tmp_path, 200, DEVICES, init=900)
        trees.process(tmp_path, 35, cgroup="/lxc/200/ns/init.scope", ns_pid=77)
        procs = tmp_path / "cgroup/lxc/200/ns/init.scope/cgroup.procs"
        procs.write_text("35\n900\n")
        assert look(node).containers[0].init_pid == 900

    def test_another_version_of_the_driver_in_it_is_a_problem(
        self, tmp_path: Path, node: Machine
    ) -> None:
        trees.container(tmp_path, 200, DEVICES, init=900)
        library = tmp_path / "proc/900/root/usr/lib64/libcuda.so.550.1"
        trees.write(library, "")
        problems = [text for text in look(node).containers[0].problems if "libcuda" in text]
        assert len(problems) == 1
        assert "550.1" in problems[0]
        assert trees.VERSION in problems[0]
        library.rename(library.with_name(f"libcuda.so.{trees.VERSION}"))
        assert not any("libcuda" in text for text in look(node).containers[0].problems)

    def test_half_an_upgrade_is_told(self, tmp_path: Path, node: Machine) -> None:
        trees.container(tmp_path, 200, DEVICES, init=900)
        for version in ("550.1", trees.VERSION):
            trees.write(tmp_path / f"proc/900/root/usr/lib64/libcuda.so.{version}", "")
        assert any("half an" in text for text in look(node).containers[0].problems)


def test_proxmoxs_file_system_may_hang(tmp_path: Path, node: Machine) -> None:
    trees.container(tmp_path, 200, "hostname: x\n")
    os.mkfifo(tmp_path / "pve/lxc/201.conf")
    assert [ct.vmid for ct in look(node).containers] == [200]


@pytest.fixture
def bystander() -> Iterator[int]:
    """A process of this machine that nobody may touch."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process.pid
        process.kill()


def test_a_look_ends_nobody(node: Machine, bystander: int) -> None:
    told = {"pid": bystander, "start_ticks": 1}
    Path(node.run, "smi.json").write_text(json.dumps(told))
    look(node)
    os.kill(bystander, 0)


@pytest.mark.parametrize(
    "prepare",
    [
        lambda root: None,
        lambda root: (root / "driver/proc/devices").unlink(),
        lambda root: (root / "driver/nodes.json").write_text('{"nvidia0": 7}'),
        lambda root: (root / "driver/nodes.json").write_text("[1]"),
        lambda root: (root / "proc/stat").unlink(),
        lambda root: (root / "pve/ha").mkdir(),
        lambda root: trees.write(root / "cgroup/lxc/200/cgroup.procs", "x\n0\n"),
    ],
)
def test_a_node_with_something_missing_is_still_seen(
    tmp_path: Path, node: Machine, prepare: Callable[[Path], object]
) -> None:
    prepare(tmp_path)
    seen: Seen = look(node)
    assert len(seen.gpus) == 2


def test_the_command_prints_a_table_or_json(
    node: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Machine, "here", lambda: node)
    assert main(["look"]) == 0
    assert "0000:11:00.0" in capsys.readouterr().out
    assert main(["look", "--json", "--no-smi"]) == 0
    assert json.loads(capsys.readouterr().out)["driver"]["smi"]["state"] == "skipped"
