"""Who holds a GPU: every thread's open files and mappings, by device number.

It sends no signal, writes nothing and starts no program. What it could not see it says: nobody
found is not the same as nobody there. Out of anyone's sight stay a file in flight over a socket,
one that io_uring keeps, and a buffer that only its mapping's driver knows.
"""

from __future__ import annotations

import os
import re
import time
from typing import Any, Dict, Sequence, Tuple

from stoker.health import owners, redaction, stuck
from stoker.health.seen import Completeness, Holder, Stuck
from stoker.recovery import cards, files, in_time, processes, targets, threads
from stoker.recovery.in_time import Budget
from stoker.recovery.machine import Machine
from stoker.recovery.mapped import Mappings
from stoker.recovery.numbers import Number
from stoker.recovery.processes import Identity, Process
from stoker.recovery.targets import Targets

BUDGET_S = 2.0
"""How long mappings, stacks and command lines together may take."""
PER_PROCESS_S = 0.002
"""What each process adds to that: a busy node must not look like a stuck one."""

Mapped = Dict[int, Tuple[Number, ...]]
"""Devices mapped by each process; one whose mappings are not known is not there."""
At = Tuple[Stuck, bool]
"""How stuck a process is, and whether one of its stacks is inside the driver."""
_NOWHERE = (Stuck("", "", ""), False)


def scan(
    machine: Machine, wanted: Targets | None = None
) -> tuple[tuple[Holder, ...], Completeness]:
    """The holders by pid, and whether all was seen. Without `wanted` it looks for itself.

    One that ended during the scan is among them: others may have come after it. Whoever means to
    signal a process makes sure that it is still the one.
    """
    began = time.monotonic()
    wanted = wanted or targets.of(machine, cards.found(machine))
    found, gaps = processes.found(machine, wanted.wanted)
    budget = Budget(BUDGET_S + PER_PROCESS_S * len(found))
    mapped = _mapped(machine, wanted, found, budget)
    at = _at(machine, [one for one in found if _asked(one, mapped)], budget)
    held = [one for one in found if _held(one, mapped) or at.get(one.pid, _NOWHERE)[1]]
    commands = _commands(machine, [one.pid for one in held if one.pid in mapped], budget)
    booted = _boot_time(machine)
    holders = []
    for one in held:
        still = processes.identity(machine, one)
        whose = one.identity or still
        if whose:
            command = commands.get(one.pid, "") if still else ""
            of_maps = mapped.get(one.pid, ())
            holders.append(_holder(wanted, one, whose, of_maps, at[one.pid], command, booted))
        else:
            gaps.append(f"process {one.pid} ({one.stat.name}): it held a GPU and has ended since")
    unknown = tuple(one.pid for one in found if one.pid not in mapped)
    complete = not gaps and not unknown
    seconds = time.monotonic() - began
    return tuple(holders), Completeness(complete, tuple(gaps), unknown, seconds)


def _held(one: Process, mapped: Mapped) -> bool:
    return bool(one.tables.found or mapped.get(one.pid))


def _asked(one: Process, mapped: Mapped) -> bool:
    """Whether its threads matter: it holds, or may be inside the driver with no file to be seen."""
    inside = one.stat.state in "DZX" or bool(one.stat.flags & stuck.EXITING)
    return inside or _held(one, mapped)


def _mapped(machine: Machine, wanted: Targets, found: Sequence[Process], budget: Budget) -> Mapped:
    mappings = Mappings(machine.proc, wanted.wanted)
    told = in_time.answers(mappings.read, [one.pid for one in found], budget)
    return {pid: tuple((major, minor) for major, minor in known) for pid, known in told.items()}


def _at(machine: Machine, asked: Sequence[Process], budget: Budget) -> dict[int, At]:
    def read(pid: int) -> list[dict[str, Any]]:
        return threads.read(machine.proc, pid)

    told = in_time.answers(read, [one.pid for one in asked], budget)
    at = {}
    for one in asked:
        known = [stuck.Thread(**fields) for fields in told.get(one.pid, ())]
        known = known or [stuck.Thread(one.stat.state, one.stat.flags)]
        how = stuck.classify(one.stat.state, known, one.tables.files > 0)
        at[one.pid] = how, any(stuck.in_driver(thread.stack) for thread in known)
    return at


def _commands(machine: Machine, pids: Sequence[int], budget: Budget) -> dict[int, str]:
    def read(pid: int) -> str:
        words = files.text(f"{machine.proc}/{pid}/cmdline", 1 << 16).rstrip("\0").split("\0")
        return redaction.command(words) if words != [""] else ""

    return in_time.answers(read, pids, budget)


def _holder(
    wanted: Targets,
    one: Process,
    whose: Identity,
    mapped: Sequence[Number],
    at: At,
    command: str,
    booted: float,
) -> Holder:
    seen = (("fd", one.tables.found), ("map", mapped), ("stack", at[1]))
    devices = sorted({wanted.name(number) for number in {*one.tables.found, *mapped}})
    return Holder(
        pid=one.pid,
        start_ticks=one.stat.start_ticks,
        ns_pid=whose.ns_pid,
        owner=owners.owner(whose.cgroup),
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
