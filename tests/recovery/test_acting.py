"""Acts carried out: what is left behind, what is repeated, and where a rung ends."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from stoker.health.acts import Change, Run
from stoker.recovery import abandoned
from stoker.recovery.acting import Acting
from stoker.recovery.commands import ticks_of
from stoker.recovery.journal import Journal
from stoker.recovery.machine import Machine
from stoker.recovery.record import Record


@pytest.fixture
def acting(tmp_path: Path) -> Acting:
    machine = Machine(run=str(tmp_path), cgroup=str(tmp_path))
    return Acting(machine, 200, Record(machine, 200), Journal(None))


@pytest.mark.scenario("L18")
def test_a_command_that_does_not_come_back_is_left_behind_and_named(acting: Acting) -> None:
    act = Run((sys.executable, "-c", "import time; time.sleep(60)"), 0.1, abandoned=True)
    failure = acting.carry_out((act,), "R4")
    assert failure == ""
    (left,) = abandoned.alive(acting.machine)
    try:
        assert left["words"] == list(act.words)
        assert abandoned.of_driver(acting.machine) == []
    finally:
        os.kill(left["pid"], signal.SIGKILL)
        os.waitpid(left["pid"], 0)
    assert abandoned.alive(acting.machine) == []


@pytest.mark.scenario("L11")
def test_nothing_enters_the_driver_while_a_command_of_ours_hangs_in_it(
    acting: Acting, tmp_path: Path
) -> None:
    hangs = Run(("sleep", "60"), 0.1, driver=True)
    acting.carry_out((hangs,), "R5")
    (left,) = abandoned.of_driver(acting.machine)
    mark = tmp_path / "mark"
    try:
        next_one = Run(("touch", str(mark)), 5, driver=True, must=True)
        assert "hangs in the driver" in acting.carry_out((next_one,), "R6")
        assert not mark.exists()
    finally:
        os.kill(left["pid"], signal.SIGKILL)
        os.waitpid(left["pid"], 0)


def test_a_command_may_be_repeated_until_it_works(acting: Acting, tmp_path: Path) -> None:
    script = f"echo x >> {tmp_path}/tries; test $(wc -l < {tmp_path}/tries) -ge 3"
    act = Run(("sh", "-c", script), 5, repeated=True, must=True)
    assert acting.carry_out((act,), "Z") == ""
    assert len((tmp_path / "tries").read_text().splitlines()) == 3


def test_a_rung_ends_where_a_command_had_to_succeed(acting: Acting, tmp_path: Path) -> None:
    acts = (Run(("false",), 5, must=True), Run(("touch", str(tmp_path / "mark")), 5))
    assert acting.carry_out(acts, "R5") == "false: exit 1"
    assert not (tmp_path / "mark").exists()
    assert acting.carry_out((Run(("false",), 5), acts[1]), "R1") == ""
    assert (tmp_path / "mark").exists()


def test_a_container_that_did_not_stop_is_not_owed_a_start(acting: Acting, tmp_path: Path) -> None:
    running(tmp_path)
    acting.record.remember(Change("container", "200"))
    assert acting.give_back(Change("container", "200")) == ""
    assert acting.record.changes == ()


def test_one_that_a_hanging_stop_may_still_end_stays_owed(acting: Acting, tmp_path: Path) -> None:
    running(tmp_path)
    acting.record.remember(Change("container", "200"))
    words = ("pct", "stop", "200")
    abandoned.note(acting.machine, words, os.getpid(), ticks_of(os.getpid()), False)
    assert "`pct stop 200`" in acting.give_back(Change("container", "200"))
    assert acting.record.changes == (Change("container", "200"),)


def running(cgroup: Path) -> None:
    """Container 200 has processes."""
    folder = cgroup / "lxc/200"
    folder.mkdir(parents=True)
    (folder / "cgroup.events").write_text("populated 1\nfrozen 0\n")
