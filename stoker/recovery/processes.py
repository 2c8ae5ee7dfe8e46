"""The processes of user space that have not ended, and the driver's devices they have open."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Callable

from stoker.recovery import files, in_time, process, tables
from stoker.recovery.machine import Machine
from stoker.recovery.numbers import Number
from stoker.recovery.tables import Tables

LIMIT_S = 10.0
"""How long all the file tables together may take; processes after that were not looked at."""
_PASSES = 10
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(frozen=True)
class Identity:
    """Whose a process is, and its number there."""

    cgroup: str
    """The text of its /proc/<pid>/cgroup; empty if it could not be read."""
    ns_pid: int | None


@dataclass(frozen=True)
class Process:
    """One process, with what never blocks to read."""

    pid: int
    stat: process.Stat
    tables: Tables
    identity: Identity | None
    """Of one that has a device open: it may have ended before anyone asks again."""


def found(machine: Machine, wanted: Callable[[Number], bool]) -> tuple[list[Process], list[str]]:
    """All of them by pid but this one, and a sentence for each whose files could not be seen.

    Holders that replace themselves all the time are never there for long: who came while the
    others were looked at is looked at too.
    """
    end = time.monotonic() + LIMIT_S
    done = {os.getpid(), *in_time.children()}
    seen: list[Process] = []
    gaps: list[str] = []
    for _ in range(_PASSES):
        new = sorted({int(name) for name in files.names(machine.proc) if name.isdecimal()} - done)
        done.update(new)
        for at, pid in enumerate(new):
            if time.monotonic() > end:
                left = f"{len(new) - at} processes from {pid} on"
                return seen, [*gaps, f"{left}: not looked at in {LIMIT_S:g} s"]
            one, gap = _looked(machine, pid, wanted)
            seen += [one] if one else []
            gaps += [gap] if gap else []
        if not new:
            break
    else:
        gaps.append(f"new processes kept coming, {len(new)} during the last of {_PASSES} looks")
    return sorted(seen, key=lambda one: one.pid), gaps


def _looked(
    machine: Machine, pid: int, wanted: Callable[[Number], bool]
) -> tuple[Process | None, str]:
    """The process, if it is one of user space that has not ended, and what could not be seen."""
    try:
        one = _look(machine, pid, wanted)
    except OSError as error:
        gone = error.errno in tables.GONE
        return None, "" if gone else f"process {pid}: {os.strerror(error.errno or 5).lower()}"
    except ValueError as error:
        return None, f"process {pid}: {error}"
    refused = one.tables.refused if one else ""
    return one, f"process {pid} ({one.stat.name}): {refused}" if one and refused else ""


def identity(machine: Machine, one: Process) -> Identity | None:
    """Whose the process is; None if it has ended since, whoever has its number now."""
    try:
        directory = os.open(f"{machine.proc}/{one.pid}", _DIRECTORY)
    except OSError:
        return None
    try:
        stat = process.parse_stat(process.read(directory, "stat"))
        if stat.ended or stat.start_ticks != one.stat.start_ticks:
            return None
        return _identity(directory)
    except (OSError, ValueError):
        return None
    finally:
        os.close(directory)


def _look(machine: Machine, pid: int, wanted: Callable[[Number], bool]) -> Process | None:
    """The process; None for one of the kernel and for one that has ended."""
    directory = os.open(f"{machine.proc}/{pid}", _DIRECTORY)
    try:
        stat = process.parse_stat(process.read(directory, "stat"))
        if stat.kernel or stat.ended:
            return None
        real = machine.proc == "/proc"
        held = tables.read(directory, pid, stat.threads, wanted, real)
        return Process(pid, stat, held, _identity(directory) if held.found else None)
    finally:
        os.close(directory)


def _identity(directory: int) -> Identity:
    ns_pid = process.parse_pids(_text(directory, "status"))
    return Identity(cgroup=_text(directory, "cgroup"), ns_pid=ns_pid)


def _text(directory: int, name: str) -> str:
    try:
        return process.read(directory, name)
    except OSError:
        return ""
