"""Who holds a GPU: every thread's open files and mappings, by device number.

It sends no signal, writes nothing and starts no program. What it could not see it says: nobody
found is not the same as nobody there. Out of anyone's sight stay a file in flight over a socket,
one that io_uring keeps, and a buffer that only its mapping's driver knows.
"""

from __future__ import annotations

import errno
import os
import re
import time
from dataclasses import dataclass
from typing import Any, Sequence

from stoker.health import owners, redaction, stuck
from stoker.health.seen import Completeness, Holder, Stuck
from stoker.recovery import cards, files, in_time, process, tables, targets, threads
from stoker.recovery.machine import Machine
from stoker.recovery.mapped import Mappings
from stoker.recovery.numbers import Number
from stoker.recovery.tables import Tables
from stoker.recovery.targets import Targets

LIMIT_S = 10.0
"""How long all the file tables together may take; processes after that were not looked at."""
BUDGET_S = 2.0
"""How long mappings, stacks and command lines together may take."""


def scan(
    machine: Machine, wanted: Targets | None = None
) -> tuple[tuple[Holder, ...], Completeness]:
    """The holders by pid, and whether all was seen. Without `wanted` it looks for itself."""
    began = time.monotonic()
    wanted = wanted or targets.of(machine, cards.found(machine))
    found, gaps = _processes(machine, wanted, began + LIMIT_S)
    budget = in_time.Budget(BUDGET_S)
    mapped = _mapped(machine, wanted, found, budget)
    at = _stuck(machine, found, mapped, budget)
    held = [one for one in found if one.tables.found or mapped.get(one.pid) or at[one.pid][1]]
    lines = _commands(machine, [one.pid for one in held if one.pid in mapped], budget)
    booted = _boot_time(machine)
    holders = [
        _holder(one, wanted, mapped.get(one.pid, ()), at[one.pid], lines.get(one.pid, ""), booted)
        for one in held
    ]
    unknown = tuple(one.pid for one in found if one.pid not in mapped)
    complete = Completeness(
        complete=not gaps and not unknown,
        unreadable=tuple(gaps),
        maps_unknown=unknown,
        seconds=time.monotonic() - began,
    )
    return tuple(holders), complete


@dataclass(frozen=True)
class _Process:
    """A process of user space that lives, with what never blocks to read."""

    pid: int
    stat: process.Stat
    tables: Tables
    cgroup: str
    status: str


def _processes(machine: Machine, wanted: Targets, end: float) -> tuple[list[_Process], list[str]]:
    """All that have not ended, and a sentence for each whose files could not be seen."""
    ours = {os.getpid(), *in_time.children()}
    found, gaps = [], []
    pids = sorted(int(name) for name in files.names(machine.proc) if name.isdecimal())
    for at, pid in enumerate(pids):
        if time.monotonic() > end:
            gaps.append(f"{len(pids) - at} processes from {pid} on: not looked at in {LIMIT_S:g} s")
            break
        if pid in ours:
            continue
        try:
            one = _look(machine, pid, wanted)
        except OSError as error:
            if error.errno not in tables.GONE:
                gaps.append(f"process {pid}: {os.strerror(error.errno or errno.EIO).lower()}")
        except ValueError as error:
            gaps.append(f"process {pid}: {error}")
        else:
            if one is not None:
                found.append(one)
                if one.tables.refused:
                    gaps.append(f"process {pid} ({one.stat.name}): {one.tables.refused}")
    return found, gaps


def _look(machine: Machine, pid: int, wanted: Targets) -> _Process | None:
    """The process; None for one of the kernel and for one that has ended."""
    directory = os.open(f"{machine.proc}/{pid}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        stat = process.parse_stat(process.read(directory, "stat"))
        if stat.kernel or stat.ended:
            return None
        real = machine.proc == "/proc"
        held = tables.read(directory, pid, stat.threads, wanted.wanted, real)
        cgroup = process.read(directory, "cgroup")
        status = process.read(directory, "status")
        return _Process(pid, stat, held, cgroup, status)
    finally:
        os.close(directory)


def _mapped(
    machine: Machine, wanted: Targets, found: Sequence[_Process], budget: in_time.Budget
) -> dict[int, tuple[Number, ...]]:
    """Devices mapped by each process; one whose mappings are not known is not there."""
    mappings = Mappings(machine.proc, wanted.wanted)
    told = in_time.answers(mappings.read, [one.pid for one in found], budget)
    return {pid: tuple((major, minor) for major, minor in numbers) for pid, numbers in told.items()}


def _stuck(
    machine: Machine,
    found: Sequence[_Process],
    mapped: dict[int, tuple[Number, ...]],
    budget: in_time.Budget,
) -> dict[int, tuple[Stuck, bool]]:
    """How stuck each process is, and whether one of its stacks is inside the driver."""
    asked = [one for one in found if one.tables.found or mapped.get(one.pid) or _suspect(one)]

    def read(pid: int) -> list[dict[str, Any]]:
        return threads.read(machine.proc, pid)

    told = in_time.answers(read, [one.pid for one in asked], budget)
    at = {one.pid: (Stuck("", "", ""), False) for one in found}
    for one in asked:
        known = [stuck.Thread(**fields) for fields in told.get(one.pid, ())]
        known = known or [stuck.Thread(one.stat.state, one.stat.flags)]
        how = stuck.classify(one.stat.state, known, one.tables.files > 0)
        at[one.pid] = how, any(stuck.in_driver(thread.stack) for thread in known)
    return at


def _suspect(one: _Process) -> bool:
    """Whether it may be inside the driver with no file to be seen, in opening or in release."""
    return one.stat.state in "DZX" or bool(one.stat.flags & stuck.EXITING)


def _commands(machine: Machine, pids: Sequence[int], budget: in_time.Budget) -> dict[int, str]:
    def read(pid: int) -> str:
        words = files.text(f"{machine.proc}/{pid}/cmdline", 1 << 16).rstrip("\0").split("\0")
        return redaction.command(words) if words != [""] else ""

    return in_time.answers(read, pids, budget)


def _holder(
    one: _Process,
    wanted: Targets,
    mapped: Sequence[Number],
    at: tuple[Stuck, bool],
    command: str,
    booted: float,
) -> Holder:
    seen = (("fd", one.tables.found), ("map", mapped), ("stack", at[1]))
    devices = sorted({wanted.name(number) for number in {*one.tables.found, *mapped}})
    return Holder(
        pid=one.pid,
        start_ticks=one.stat.start_ticks,
        ns_pid=process.parse_pids(one.status),
        owner=owners.owner(one.cgroup),
        name=one.stat.name,
        command=command,
        state=one.stat.state,
        threads=one.stat.threads,
        since=booted + one.stat.start_ticks / os.sysconf("SC_CLK_TCK"),
        evidence=tuple(how for how, there in seen if there),
        devices=tuple(devices),
        gpus=tuple(sorted({wanted.gpus[name] for name in devices if name in wanted.gpus})),
        stuck=at[0],
    )


def _boot_time(machine: Machine) -> float:
    """When the node booted, seconds since 1970; 0 if it does not say."""
    told = re.search(r"^btime (\d+)$", files.text(f"{machine.proc}/stat"), re.MULTILINE)
    return float(told[1]) if told else 0.0
