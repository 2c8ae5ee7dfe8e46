"""Killing a unit's cgroup whole: real processes in a real cgroup, its path as a node has it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stoker.health.owners import owner
from stoker.recovery import cgroups, process, signals
from stoker.recovery.commands import ticks_of
from stoker.recovery.machine import Machine
from tests.health.nodes import holder

from .holding import needs_root

pytestmark = needs_root

UNIT = "/lxc/200/ns/system.slice/sglang.service"
RESPAWNER = "while :; do sleep 60 & wait $!; done"
FORK_BOMB = "for _ in 1 2 3 4 5 6 7 8; do while :; do (:); done & done; wait"


def mounted() -> Path | None:
    """Where cgroups of version 2 are mounted here."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2" and os.access(place, os.W_OK):
            return Path(place)
    return None


@pytest.fixture
def root() -> Iterator[Path]:
    """A cgroup that stands for the root of a node's."""
    place = mounted()
    if place is None:
        pytest.skip("no cgroups of version 2 can be made here")
    top = place / f"stoker-test-{os.getpid()}"
    unit = top / UNIT.strip("/")
    unit.mkdir(parents=True)
    yield top
    (unit / "cgroup.kill").write_text("1")
    until(lambda: "populated 0" in (unit / "cgroup.events").read_text())
    for folder in sorted(top.rglob("*/"), reverse=True):
        folder.rmdir()
    top.rmdir()


def until(holds: Callable[[], bool]) -> None:
    """Wait for it, not for ever."""
    end = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def members(root: Path) -> list[int]:
    """Living processes of the unit."""
    pids = (root / UNIT.strip("/") / "cgroup.procs").read_text().split()
    return [int(pid) for pid in pids]


@pytest.fixture
def begin(root: Path) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Starts a shell script in the unit."""
    started = []

    def start(script: str) -> subprocess.Popen[bytes]:
        words = 'echo $$ >"$1"; eval "$2"'
        procs = root / UNIT.strip("/") / "cgroup.procs"
        started.append(subprocess.Popen(["sh", "-c", words, "sh", procs, script]))
        until(lambda: started[-1].pid in members(root))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()


def is_empty(root: Path) -> bool:
    return "populated 0" in (root / UNIT.strip("/") / "cgroup.events").read_text()


@pytest.mark.scenario("K5")
def test_a_respawner_of_the_unit_ends_with_what_it_starts(
    root: Path, begin: Callable[[str], subprocess.Popen[bytes]]
) -> None:
    main = begin(RESPAWNER)
    until(lambda: len(members(root)) == 2)
    (first,) = set(members(root)) - {main.pid}
    os.kill(first, signal.SIGTERM)
    until(lambda: len(members(root)) == 2 and first not in members(root))
    assert cgroups.kill(Machine(cgroup=str(root)), UNIT, 200) == ""
    until(lambda: is_empty(root))


@pytest.mark.scenario("K7")
def test_a_fork_bomb_of_the_unit_ends_at_once(
    root: Path, begin: Callable[[str], subprocess.Popen[bytes]]
) -> None:
    begin(FORK_BOMB)
    until(lambda: len(members(root)) > 8)
    assert cgroups.kill(Machine(cgroup=str(root)), UNIT, 200) == ""
    until(lambda: is_empty(root))


@pytest.mark.scenario("K12")
def test_an_older_kernel_s_cgroup_is_frozen_while_its_processes_are_killed(
    root: Path, begin: Callable[[str], subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    begin(RESPAWNER)
    until(lambda: len(members(root)) == 2)
    older = tmp_path / "cgroup" / UNIT.strip("/")
    older.mkdir(parents=True)
    for name in ("cgroup.procs", "cgroup.freeze", "cgroup.events"):
        (older / name).symlink_to(root / UNIT.strip("/") / name)
    machine = Machine(proc=shown(tmp_path, members(root)), cgroup=str(tmp_path / "cgroup"))
    assert not cgroups.can_kill(machine, UNIT)
    assert cgroups.kill(machine, UNIT, 200) == ""
    until(lambda: is_empty(root))
    assert (older / "cgroup.freeze").read_text() == "0\n"


@pytest.mark.scenario("K11")
def test_a_holder_in_a_frozen_cgroup_gets_its_kill(
    root: Path, begin: Callable[[str], subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    child = begin("trap 'exit 3' TERM; sleep 60 & wait")
    until(lambda: len(members(root)) == 2)
    frozen = root / UNIT.strip("/") / "cgroup.freeze"
    frozen.write_text("1")
    until(lambda: "frozen 1" in frozen.with_name("cgroup.events").read_text())
    machine = Machine(proc=shown(tmp_path, [child.pid]), cgroup=str(root))
    one = holder(child.pid, UNIT, 0, ns_pid=7, start_ticks=ticks_of(child.pid))
    one = replace(one, owner=owner(f"0::{UNIT}"))
    assert signals.send(machine, one, 200, signal.SIGTERM, lambda pid: True) == signals.SENT
    time.sleep(0.05)
    assert child.poll() is None
    assert signals.send(machine, one, 200, signal.SIGKILL, lambda pid: True) == signals.SENT
    assert child.wait(timeout=5) == -signal.SIGKILL


def shown(folder: Path, pids: list[int]) -> str:
    """A /proc with these processes alone, in the unit of CT 200."""
    for pid in pids:
        there = folder / "proc" / str(pid)
        there.mkdir(parents=True)
        for name in ("stat", "status"):
            (there / name).symlink_to(f"/proc/{pid}/{name}")
        (there / "cgroup").write_text(f"0::{UNIT}\n")
        assert process.parse_stat((there / "stat").read_text()).start_ticks
    return str(folder / "proc")
