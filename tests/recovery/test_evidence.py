"""`stoker.pyz evidence`: the node's half of a death, of trees that look like a node."""

import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from stoker.facts.gpu_node import LOOK_S
from stoker.health.crash.death import HostSide
from stoker.recovery import evidence, host_side, memory, pids
from stoker.recovery.__main__ import main
from stoker.recovery.machine import Machine

from . import trees
from .test_kernel_lines import put

SINCE = 1796000000.0
OOM = (
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=ns,mems_allowed=0-1,"
    "oom_memcg=/lxc/200,task_memcg=/lxc/200/ns/system.slice/sglang.service,"
    "task=sglang::schedul,pid=4711,uid=999"
)
LOG = f"""\
1795999000.000000 pve1 kernel: NVRM: Xid (PCI:0000:01:00): 13, pid=1, name=old
1796000100.000000 pve1 kernel: usb 1-1: new high-speed USB device
1796000200.500000 pve1 kernel: {OOM}
1796000200.600000 pve1 kernel: Memory cgroup out of memory: Killed process 4711 (sglang::schedul)
"""
OOM_LINE = f"1796000200.500000 pve1 kernel: {OOM}"
CONF = "hostname: gpu-a\ndev0: /dev/nvidia0,mode=0666\ndev1: /dev/nvidia1,mode=0666\n"
EVENTS = "low 0\nhigh 0\nmax 40\noom 2\noom_kill 2\noom_group_kill 0\n"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """CT 200 with GPUs 0 and 1 of three, one process, and one kill by the OOM killer."""
    machine = trees.machine(tmp_path)
    trees.loaded(tmp_path)
    for number in range(3):
        trees.gpu(tmp_path, number)
    trees.container(tmp_path, 200, CONF, init=4000)
    trees.process(tmp_path, 4711, cgroup="/lxc/200/ns/system.slice/sglang.service", ns_pid=31)
    group = tmp_path / "cgroup/lxc/200"
    trees.write(group / "ns/system.slice/sglang.service/cgroup.procs", "4711\n")
    trees.write(group / "memory.events", EVENTS)
    trees.write(group / "memory.max", "34359738368\n")
    trees.write(tmp_path / "driver/kernel.log", LOG)
    trees.smi(tmp_path / "bin", f"cat <<'X'\n{trees.document(1, 1, 1)}\nX")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return machine


def test_it_tells_the_kernels_lines_the_kills_the_limit_and_the_processes(node: Machine) -> None:
    seen = host_side.of(node, 200, SINCE)
    assert [line.text[:40] for line in seen.kernel] == [
        OOM[:40],
        "Memory cgroup out of memory: Killed proc",
    ]
    assert seen.kernel_complete
    assert (seen.oom_kills, seen.memory_limit_bytes) == (2, 32 << 30)
    assert seen.pids == {4000: 1, 4711: 31}
    assert seen.bdfs == ("0000:01:00.0", "0000:11:00.0")
    assert (seen.driver, seen.unseen) == ("", ())


def test_where_the_firmware_was_silent_nvidia_smi_is_not_asked(
    node: Machine, tmp_path: Path
) -> None:
    silent = "1796000300.000000 pve1 kernel: NVRM: Xid (PCI:0000:01:00): 119, Timeout after 6s\n"
    trees.write(tmp_path / "driver/kernel.log", LOG + silent)
    trees.smi(tmp_path / "bin", f"touch {tmp_path}/asked")
    seen = host_side.of(node, 200, SINCE)
    assert not (tmp_path / "asked").exists()
    assert seen.unseen == ("nvidia-smi: a GPU's firmware gave no answer since (Xid 119 or 120)",)


@pytest.mark.parametrize(
    ("slow", "said"),
    [
        ("journalctl", f"echo '{OOM_LINE}'; exec sleep 60"),
        ("dmesg", "exec sleep 60"),
    ],
)
def test_what_takes_too_long_is_told_as_unseen_and_the_rest_is_told(
    node: Machine, tmp_path: Path, slow: str, said: str
) -> None:
    put(tmp_path / "bin", "journalctl", "exit 1")
    put(tmp_path / "bin", slow, said)
    trees.smi(tmp_path / "bin", f"touch {tmp_path}/asked")
    began = time.monotonic()
    seen = host_side.of(replace(node, stand_in=False), 200, SINCE, limit_s=1.0)
    assert time.monotonic() - began < 10
    assert (seen.oom_kills, seen.memory_limit_bytes) == (2, 32 << 30)
    assert len(seen.kernel) == (slow == "journalctl") and not seen.kernel_complete
    assert f"{slow} was ended after 1 s" in seen.unseen[0]
    assert seen.unseen[-1] == "nvidia-smi: no time was left for it"
    assert not (tmp_path / "asked").exists()


def test_all_of_it_takes_less_than_whoever_asks_waits_for() -> None:
    for_ssh_and_python = 15
    assert host_side.LIMIT_S + for_ssh_and_python <= LOOK_S


def test_a_container_that_does_not_run_is_told_with_what_is_missing(
    node: Machine, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "cgroup/lxc/200")
    seen = host_side.of(node, 200, SINCE)
    assert (seen.oom_kills, seen.memory_limit_bytes, seen.pids) == (None, None, None)
    assert seen.unseen == ("the OOM counter of CT 200: it does not run, so its cgroup is gone",)
    assert len(seen.kernel) == 2


def test_a_container_of_another_node_is_said(node: Machine) -> None:
    seen = host_side.of(node, 999, SINCE)
    assert seen.bdfs == ()
    assert any("the GPUs of CT 999" in sentence for sentence in seen.unseen)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18", "mismatch"),
        ("echo 'NVIDIA-SMI has failed because it couldn'; exit 9", "NVIDIA-SMI has failed"),
        ("printf '%0900d' 0; exit 77", "nvidia-smi: 000"),
    ],
)
def test_what_the_driver_complains_of_is_passed_on(
    node: Machine, tmp_path: Path, said: str, told: str
) -> None:
    trees.smi(tmp_path / "bin", said)
    seen = host_side.of(node, 200, SINCE)
    assert told in seen.driver and len(seen.driver) <= 600


def test_beside_a_hanging_nvidia_smi_no_second_one_is_started(
    node: Machine, tmp_path: Path
) -> None:
    trees.smi(tmp_path / "bin", f"touch {tmp_path}/asked")
    start = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    trees.write(tmp_path / "proc" / str(os.getpid()) / "stat", Path("/proc/self/stat").read_text())
    record = {"pid": os.getpid(), "start_ticks": int(start), "since": SINCE}
    trees.write(tmp_path / "run/smi.json", json.dumps(record))
    seen = host_side.of(node, 200, SINCE)
    assert not (tmp_path / "asked").exists()
    assert seen.driver == "" and "still hangs" in seen.unseen[-1]


def test_only_the_containers_own_gpus_complain(node: Machine, tmp_path: Path) -> None:
    lost = trees.document(1, 1, 1).replace("<used>1 MiB", "<used>GPU is lost", 3)
    trees.smi(tmp_path / "bin", f"cat <<'X'\n{lost}\nX")
    seen = host_side.of(node, 200, SINCE)
    assert "GPU 0000:21:00.0" not in seen.driver


def test_nothing_of_it_is_written_but_where_a_nvidia_smi_is(node: Machine, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    host_side.of(node, 200, SINCE)
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.name for path in after.keys() - before.keys()} <= {"smi.lock"}
    assert {path: after[path] for path in before} == before


def test_version_1_counts_in_every_group_for_itself(tmp_path: Path) -> None:
    machine = trees.machine(tmp_path)
    top = tmp_path / "cgroup/memory/lxc/200"
    trees.write(top / "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    trees.write(top / "ns/system.slice/memory.oom_control", "oom_kill 2\n")
    trees.write(top / "memory.limit_in_bytes", "9223372036854771712\n")
    assert memory.oom_kills(machine, 200) == 3
    assert memory.limit_bytes(machine, 200) is None
    trees.write(top / "memory.limit_in_bytes", "1073741824\n")
    assert memory.limit_bytes(machine, 200) == 1 << 30


def test_a_process_that_its_container_nests_has_the_number_of_the_container(
    node: Machine, tmp_path: Path
) -> None:
    trees.write(tmp_path / "proc/4711/status", "NSpid:\t4711\t31\t1\n")
    assert (pids.inside(node, 200) or {})[4711] == 31


def test_it_is_one_json_object_that_becomes_the_type_again(
    node: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(evidence.Machine, "here", classmethod(lambda _: node))
    assert main(["evidence", "200", "--since", "1796000000", "--no-smi"]) == 0
    found = TypeAdapter(HostSide).validate_json(capsys.readouterr().out)
    assert found == host_side.of(node, 200, SINCE, smi=False)


JOURNAL = """
echo "$*" >> {asked}
case " $* " in
*" --until="*) echo '1795990000.0 pve1 kernel: Linux version 6.14' ;;
*) echo '1796000100.0 pve1 kernel: usb 1-1: new'
   echo '1796000101.0 pve1 kernel: NVRM: API mismatch: the client x (pid 7)'
   echo '                          NVRM: has the version 580.1, but this kernel module has'
   echo '1796000102.0 pve1 kernel: multi-line of something else'
   echo '                          second line of it' ;;
esac
"""


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "stat").write_text("btime 1796000000\n")
    return Machine(proc=str(tmp_path))


def test_the_journal_is_asked_across_reboots_and_whether_it_reaches_back(
    real: Machine, tmp_path: Path
) -> None:
    put(tmp_path, "journalctl", JOURNAL.format(asked=tmp_path / "asked"))
    log = host_side.kernel_since.read(real, SINCE)
    assert [one.text for one in log.messages] == [
        "NVRM: API mismatch: the client x (pid 7) has the version 580.1, but this kernel module has"
    ]
    assert (log.complete, log.missing) == (True, "")
    words = (tmp_path / "asked").read_text()
    assert "_TRANSPORT=kernel" in words and "--since=@1796000000" in words and " -b" not in words


def test_a_journal_that_begins_later_says_so(real: Machine, tmp_path: Path) -> None:
    put(
        tmp_path,
        "journalctl",
        f"case \"$*\" in *--until*) ;; *) echo '{LOG.splitlines()[2]}';; esac",
    )
    log = host_side.kernel_since.read(real, SINCE)
    assert len(log.messages) == 1 and not log.complete
    assert log.missing.endswith("it does not reach back so far")


def test_without_a_journal_the_ring_buffer_is_read_with_its_beginning(
    real: Machine, tmp_path: Path
) -> None:
    put(tmp_path, "journalctl", "echo 'No journal files were found.' >&2; exit 1")
    ring = f"echo '[    0.000000] Linux version'; echo '[  200.500000] {OOM}'"
    put(tmp_path, "dmesg", ring)
    log = host_side.kernel_since.read(real, SINCE + 100)
    assert [one.time for one in log.messages] == [1796000200.5] and log.complete
    put(tmp_path, "dmesg", ring.replace("    0.000000", "  150.000000"))
    assert not host_side.kernel_since.read(real, SINCE + 100).complete


def test_a_log_that_cannot_be_read_is_said_with_its_reason(real: Machine, tmp_path: Path) -> None:
    put(tmp_path, "journalctl", "exit 1")
    put(tmp_path, "dmesg", "echo 'dmesg: read kernel buffer failed: not permitted' >&2; exit 1")
    log = host_side.kernel_since.read(real, SINCE)
    assert (log.messages, log.complete) == ((), False)
    assert log.missing == "the kernel's log: dmesg: read kernel buffer failed: not permitted"


@pytest.mark.parametrize("since", ["nan", "inf", "-inf", "yesterday", ""])
def test_a_time_that_is_none_is_refused(since: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["evidence", "200", f"--since={since}"])
    assert ended.value.code == 2
    assert "--since" in capsys.readouterr().err
