"""The scan beside things that do not answer, and what it says of what it could not see."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker.recovery import in_time, processes
from stoker.recovery.machine import Machine
from stoker.recovery.scanning import scan

from . import dead_mount, trees
from .holding import FULL, TARGETS, ZERO, Holders, machine_of, needs_root

MANY_S = 30
"""Nothing that waited for an answer would be back by then; a busy machine is."""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_time, "PATIENCE_S", 0.1)


def link(folder: Path, name: str, target: Path) -> None:
    """An open file of a process in a tree."""
    (folder / "fd" / name).symlink_to(target)


@needs_root
@pytest.mark.scenario("S20")
def test_a_process_whose_mappings_cannot_be_read_in_time_is_told(
    tmp_path: Path, holders: Holders, impatient: None
) -> None:
    machine = trees.machine(tmp_path)
    for pid in (10, 11, 12):
        folder = trees.process(tmp_path, pid)
        link(folder, "3", holders.node(FULL))
        if pid == 11:
            (folder / "maps").unlink()
            os.mkfifo(folder / "maps")
    began = time.monotonic()
    seen, completeness = scan(machine, TARGETS)
    assert time.monotonic() - began < MANY_S
    assert [holder.pid for holder in seen] == [10, 11, 12]
    assert completeness.maps_unknown == (11,)
    assert not completeness.complete
    assert [holder.command for holder in seen] == [
        "program --number 10",
        "",
        "program --number 12",
    ]


AS_NOBODY = """
import dataclasses, json, os
from stoker.recovery.machine import Machine
from stoker.recovery.scanning import scan
from tests.recovery.holding import TARGETS
os.setuid(65534)
seen, completeness = scan(Machine(), TARGETS)
told = dataclasses.asdict(completeness)
print(json.dumps({"seen": [holder.pid for holder in seen], **told}))
"""


@needs_root
@pytest.mark.scenario("S10")
def test_a_process_that_may_not_be_looked_into_is_a_gap(holders: Holders) -> None:
    held = holders.start(holders.node(FULL), "--comm", "secretive")
    # Not in a fork of pytest: gevent, which others of our packages bring, closes files later there.
    words, root = [sys.executable, "-c", AS_NOBODY], Path(__file__).parents[2]
    done = subprocess.run(words, capture_output=True, check=True, cwd=root)
    told = json.loads(done.stdout)
    assert held.starter not in told["seen"]
    assert not told["complete"]
    secretive = f"process {held.starter} (secretive): fd: permission denied"
    assert secretive in told["unreadable"]


@needs_root
@pytest.mark.scenario("S22")
def test_a_process_in_the_drivers_release_is_found_by_its_stack(tmp_path: Path) -> None:
    machine = trees.machine(tmp_path)
    trees.process(tmp_path, 10, state="D", flags=trees.EXITING, stack=trees.STACK)
    trees.process(tmp_path, 11, state="D", stack="[<0>] io_schedule+0x1/0x2\n")
    trees.process(tmp_path, 12, state="S", stack=trees.STACK)
    (holder,), completeness = scan(machine, TARGETS)
    assert (holder.pid, holder.evidence, holder.devices) == (10, ("stack",), ())
    assert (holder.stuck.kind, holder.stuck.where) == ("exiting", "nvidia")
    assert holder.stuck.frame == "os_acquire_rwlock_write"
    assert completeness.complete


def test_one_that_hangs_in_opening_the_device_is_found_too(tmp_path: Path) -> None:
    machine = trees.machine(tmp_path)
    stack = "[<0>] rwsem_down_read_slowpath+0x1/0x2\n[<0>] nvidia_open+0x1/0x2 [nvidia]\n"
    trees.process(tmp_path, 10, state="D", stack=stack)
    (holder,), _ = scan(machine, TARGETS)
    assert (holder.evidence, holder.stuck.kind) == (("stack",), "waiting")


def test_a_thread_of_the_kernel_is_no_process(tmp_path: Path) -> None:
    machine = trees.machine(tmp_path)
    trees.process(tmp_path, 2, flags=trees.KERNEL, state="D", stack=trees.STACK)
    assert scan(machine, TARGETS)[0] == ()


@needs_root
@pytest.mark.scenario("O11")
def test_a_container_without_a_configuration_here_still_owns_its_processes(
    tmp_path: Path, holders: Holders
) -> None:
    machine = trees.machine(tmp_path)
    link(trees.process(tmp_path, 10, cgroup="/lxc/999/ns", ns_pid=7), "3", holders.node(FULL))
    (holder,), _ = scan(machine, TARGETS)
    assert (holder.owner.kind, holder.owner.vmid, holder.ns_pid) == ("ct", 999, 7)


@needs_root
def test_a_holder_that_ends_during_the_scan_is_told_without_its_successors_words(
    tmp_path: Path, holders: Holders, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = trees.machine(tmp_path)
    folder = trees.process(tmp_path, 10, cgroup="/lxc/200/ns", start=100)
    link(folder, "3", holders.node(FULL))
    succeeded(monkeypatch, folder)
    (holder,), completeness = scan(machine, TARGETS)
    assert (holder.start_ticks, holder.owner.vmid, holder.command) == (100, 200, "")
    assert completeness.complete


def test_one_known_by_its_stack_alone_that_ends_leaves_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = trees.machine(tmp_path)
    succeeded(monkeypatch, trees.process(tmp_path, 10, state="D", stack=trees.STACK))
    seen, completeness = scan(machine, TARGETS)
    assert seen == ()
    assert completeness.unreadable == ("process 10 (name 10): it held a GPU and has ended since",)


def succeeded(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Another process has that number before the scan asks whose it is."""
    really = processes.identity

    def later(machine: Machine, one: processes.Process) -> processes.Identity | None:
        stat = folder / "stat"
        stat.write_text(stat.read_text().replace(" 100 ", " 101 "))
        return really(machine, one)

    monkeypatch.setattr(processes, "identity", later)


@needs_root
def test_holders_that_replace_themselves_are_never_taken_for_nobody(holders: Holders) -> None:
    holders.start(holders.node(FULL), "--relay", 20)
    for _ in range(2):
        seen, completeness = scan(Machine(), TARGETS)
        assert "relay" in {holder.name for holder in seen} or not completeness.complete


def test_processes_that_keep_coming_are_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = trees.machine(tmp_path)
    trees.process(tmp_path, 10)
    really = processes.process.parse_stat

    def one_more(text: str) -> processes.process.Stat:
        pid = int(text.split()[0])
        trees.process(tmp_path, pid + 1)
        return really(text)

    monkeypatch.setattr(processes.process, "parse_stat", one_more)
    seen, gaps = processes.found(machine, TARGETS.wanted)
    assert [one.pid for one in seen] == list(range(10, 20))
    assert gaps == ["new processes kept coming, 1 during the last of 10 looks"]


def test_a_scan_that_would_take_too_long_says_what_it_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = trees.machine(tmp_path)
    for pid in range(10, 20):
        trees.process(tmp_path, pid)
    monkeypatch.setattr(processes, "LIMIT_S", -1)
    seen, completeness = scan(machine, TARGETS)
    assert seen == ()
    assert not completeness.complete
    assert "10 processes from 10 on" in completeness.unreadable[0]


@pytest.fixture
def on_a_dead_mount(tmp_path: Path) -> Iterator[int]:
    """A process whose standard input is a file of a file system that has stopped answering."""
    if os.geteuid() != 0 or not Path("/dev/fuse").exists():
        pytest.skip("a FUSE mount needs root and /dev/fuse")
    folder = tmp_path / "mount"
    folder.mkdir()
    words = [sys.executable, dead_mount.__file__, folder]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin and server.stdout
        try:
            if not server.stdout.readline():
                pytest.skip("this machine mounts no FUSE")
            file = os.open(folder / dead_mount.FILE, os.O_RDONLY)
            sleeping = subprocess.Popen(["sleep", "600"], stdin=file)
            os.close(file)
            server.stdin.write(b"\n")
            server.stdin.flush()
            server.stdout.readline()
            yield sleeping.pid
        finally:
            server.kill()  # the kernel then lets everybody go
            server.wait()
            subprocess.run(["umount", "-l", folder], check=False, stderr=subprocess.DEVNULL)
    sleeping.kill()
    sleeping.wait()


def test_a_file_on_a_dead_mount_does_not_hold_up_the_scan(
    tmp_path: Path, on_a_dead_mount: int, holders: Holders
) -> None:
    beside = holders.start(holders.node(ZERO))
    began = time.monotonic()
    seen, completeness = scan(machine_of(tmp_path, [on_a_dead_mount, beside.starter]))
    assert time.monotonic() - began < MANY_S
    assert [holder.pid for holder in seen] == [beside.starter]
    assert completeness.complete


def test_a_plain_stat_would_wait_for_that_mount(on_a_dead_mount: int) -> None:
    path = f"/proc/{on_a_dead_mount}/fd/0"
    asking = in_time.answers(lambda path: os.stat(path).st_size, [path], in_time.Budget(1))  # noqa: PTH116
    assert asking == {}
