"""A run is followed from outside, and goes on without its follower."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from stoker.recovery import journal, printing, recover, scope
from stoker.recovery.machine import Machine

RUN = """
import sys, time
from stoker.recovery.journal import Journal
from stoker.recovery.machine import Machine

told = Journal.opened(Machine(run=sys.argv[1]), 200, run=sys.argv[2])
print("began", flush=True)
for number in range(3):
    sys.stdin.readline()
    told.tell("act", f"line {number}")
sys.stdin.readline()
told.tell("end", "over", code=0, changed=True)
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(run=str(tmp_path))


def started(machine: Machine, name: str = "a") -> subprocess.Popen[str]:
    words = [sys.executable, "-c", RUN, machine.run, name]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "began\n"
    return child


def on(child: subprocess.Popen[str], lines: int) -> None:
    assert child.stdin is not None
    child.stdin.write("\n" * lines)
    child.stdin.flush()


def texts(told: list[dict[str, Any]]) -> list[str]:
    return [str(one["text"]) for one in told if one["event"] != "start"]


def test_it_is_followed_to_its_end(machine: Machine) -> None:
    child = started(machine)
    on(child, 4)
    told = list(scope.follow(machine, 200, "a"))
    assert texts(told) == ["line 0", "line 1", "line 2", "over"]
    assert told[-1]["code"] == 0
    child.wait()


@pytest.mark.scenario("L41")
def test_it_goes_on_without_its_follower_and_the_next_one_hears_it_all(machine: Machine) -> None:
    child = started(machine)
    on(child, 1)
    first = scope.follow(machine, 200, "a")
    next(first)
    first.close()  # the line is dropped
    assert scope.running(machine, 200)
    threading.Timer(0.05, on, (child, 3)).start()
    assert texts(list(scope.follow(machine, 200))) == ["line 0", "line 1", "line 2", "over"]
    child.wait()
    assert not scope.running(machine, 200)


def test_one_that_is_killed_is_told(machine: Machine) -> None:
    child = started(machine)
    on(child, 1)
    threading.Timer(0.1, child.send_signal, (signal.SIGKILL,)).start()
    told = list(scope.follow(machine, 200, "a"))
    child.wait()
    assert told[-1]["event"] == "end"
    assert told[-1]["code"] == 1
    assert "run it again" in told[-1]["text"]


def test_one_that_does_not_begin_is_told(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "BEGIN_S", 0.05)
    (told,) = scope.follow(machine, 200, "a")
    assert "did not begin" in told["text"]


def test_the_course_of_the_run_before_is_not_taken_for_the_new_one(machine: Machine) -> None:
    old = started(machine, "old")
    on(old, 4)
    old.wait()
    new = started(machine, "new")
    on(new, 4)
    assert len(list(scope.follow(machine, 200, "new"))) == 5
    new.wait()
    assert Path(journal.path(machine, 200)).stat().st_mode & 0o777 == 0o600


def test_it_is_started_from_a_copy_of_the_packed_file(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "stoker.pyz"
    packed.write_bytes(b"packed")

    class Loader:
        archive = str(packed)

    monkeypatch.setattr(scope, "__loader__", Loader())
    words = scope.program(machine, 200)
    assert words[1:] == ["-I", f"{machine.run}/recover-200.pyz"]
    assert Path(words[2]).read_bytes() == b"packed"


def test_two_calls_at_the_same_moment_follow_one_run(machine: Machine) -> None:
    """The service's name is taken before its run has begun to write."""
    children: list[subprocess.Popen[str]] = []
    later = threading.Timer(0.1, lambda: children.append(started(machine)))
    later.start()
    assert scope.begins(machine, 200, 5.0)
    later.join()
    on(children[0], 4)
    assert children[0].wait(5) == 0


def test_a_run_that_nobody_began_is_not_waited_for(machine: Machine) -> None:
    assert not scope.begins(machine, 200, 0.0)


@pytest.mark.parametrize("name", ["../../x", "-Hroot@node", "a b", "x$(id).service", "x.mount"])
def test_a_unit_is_a_services_name(name: str) -> None:
    parser = argparse.ArgumentParser()
    recover.add_to(parser.add_subparsers())
    with pytest.raises(SystemExit):
        parser.parse_args(["recover", "200", f"--unit={name}"])
    assert parser.parse_args(["recover", "200", "--unit=sglang@0"]).unit == ["sglang@0.service"]


def test_what_a_container_says_moves_no_cursor() -> None:
    told = {"time": 0.0, "rung": "Z", "event": "log", "text": "\x1b[2Jall is well\x9b1A\r"}
    assert "\x1b" not in printing.sentence(told)
    assert "\x9b" not in printing.sentence(told)


def test_a_run_goes_on_where_its_journal_finds_no_room() -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        journal.Journal(full.fileno()).tell("act", "a line")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "stoker.recovery", "status"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert done.stderr == b""
