"""The processes of user space that have not ended, and the driver's devices they have open."""

from __future__ import annotations

import errno
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
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(frozen=True)
class Process:
    """One process, with what never blocks to read."""

    pid: int
    stat: process.Stat
    tables: Tables


@dataclass(frozen=True)
class Identity:
    """Whose a process is, and its number there."""

    cgroup: str
    """The text of its /proc/<pid>/cgroup; empty if it could not be read."""
    ns_pid: int | None


def found(machine: Machine, wanted: Callable[[Number], bool]) -> tuple[list[Process], list[str]]:
    """All of them by pid but this one, and a sentence for each whose files could not be seen."""
    end = time.monotonic() + LIMIT_S
    ours = {os.getpid(), *in_time.children()}
    pids = sorted({int(name) for name in files.names(machine.proc) if name.isdecimal()} - ours)
    seen: list[Process] = []
    gaps: list[str] = []
    for at, pid in enumerate(pids):
        if time.monotonic() > end:
            gaps.append(f"{len(pids) - at} processes from {pid} on: not looked at in {LIMIT_S:g} s")
            break
        try:
            one = _look(machine, pid, wanted)
        except OSError as error:
            if error.errno not in tables.GONE:
                gaps.append(f"process {pid}: {os.strerror(error.errno or errno.EIO).lower()}")
        except ValueError as error:
            gaps.append(f"process {pid}: {error}")
        else:
            if one:
                seen.append(one)
                if one.tables.refused:
                    gaps.append(f"process {pid} ({one.stat.name}): {one.tables.refused}")
    return seen, gaps


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
        return Identity(
            cgroup=_text(directory, "cgroup"), ns_pid=process.parse_pids(_text(directory, "status"))
        )
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
        return Process(pid, stat, tables.read(directory, pid, stat.threads, wanted, real))
    finally:
        os.close(directory)


def _text(directory: int, name: str) -> str:
    try:
        return process.read(directory, name)
    except OSError:
        return ""
