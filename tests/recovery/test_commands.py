"""Programs with a deadline: what only reads is ended then, what changes something never."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from stoker.recovery import commands
from stoker.recovery.commands import ticks_of


def test_what_only_reads_is_ended_with_everything_it_started() -> None:
    ran = commands.read(["sh", "-c", "sleep 60 & echo $!; wait"], 0.2)
    assert ran.code is None
    assert "no end after" in ran.failure
    end = time.monotonic() + 2
    while ticks_of(int(ran.out)) and time.monotonic() < end:
        time.sleep(0.01)
    assert not alive(int(ran.out))


@pytest.mark.scenario("L18")
def test_what_changes_something_is_left_alone_after_its_time() -> None:
    told: list[tuple[int, int]] = []
    began = time.monotonic()
    ran = commands.change(["sleep", "60"], 0.1, lambda pid, ticks: told.append((pid, ticks)))
    try:
        assert time.monotonic() - began < 2
        assert ran.code is None
        assert told == [(ran.pid, ran.start_ticks)]
        assert alive(ran.pid)
        assert f"process {ran.pid}" in ran.failure
    finally:
        os.kill(ran.pid, signal.SIGKILL)
        os.waitpid(ran.pid, 0)


def test_a_program_that_is_not_there_is_told_as_one() -> None:
    ran = commands.read(["/no/such/program"], 1)
    assert (ran.code, ran.failure) == (
        127,
        "/no/such/program: exit 127, /no/such/program: No such file or directory",
    )


def alive(pid: int) -> bool:
    """Whether it is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_program_cannot_fill_the_nodes_memory() -> None:
    """What is run in a container may be anything there."""
    ran = commands.read(["sh", "-c", "yes; yes >&2"], 5.0)
    assert ran.code is not None
    assert len(ran.out) <= commands.MOST_BYTES
    assert len(ran.err) <= commands.MOST_BYTES


def test_what_a_program_says_is_all_there_is() -> None:
    ran = commands.read(["sh", "-c", "echo yes; echo no >&2"], 5.0)
    assert (ran.code, ran.out, ran.err) == (0, "yes\n", "no\n")
