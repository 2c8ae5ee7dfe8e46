"""What the kernel logged about memory, GPUs and stuck tasks since a time, over reboots too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable, Iterable

from stoker.health import kernel_kinds, kernel_log
from stoker.health.kernel_log import Message
from stoker.recovery import asking, files, kernel_lines
from stoker.recovery.in_time import Budget
from stoker.recovery.machine import Machine

LIMIT_S = 20.0
# Not -k, which means this boot alone.
_JOURNAL = ("journalctl", "--quiet", "--no-pager", "_TRANSPORT=kernel", "-o", "short-unix")
_BEGINS = re.compile(rb"\d{1,12}(?:\.\d{1,9})? (?:\S{1,255} )?kernel: |\[ *\d{1,12}\.\d{1,9}\] ")


@dataclass(frozen=True)
class Log:
    """The part of the log that matters."""

    messages: tuple[Message, ...]
    complete: bool
    """Whether it reaches back to the time asked for."""
    missing: str
    """What of it could not be looked at, and why; empty: nothing."""


def read(machine: Machine, since: float, budget: Budget | None = None) -> Log:
    """From the journal, else from the ring buffer; on a stand-in from its file.

    `budget`: what all of it may take; what was read until then is told.
    """
    left = budget or Budget(3 * LIMIT_S)
    if machine.stand_in:
        path = machine.of_driver("/kernel.log")
        lines = files.text(path).splitlines()
        return _log(lines, since, bool(lines), "" if lines else f"the kernel's log: no {path}")
    journal = asking.ask((*_JOURNAL, f"--since=@{since:.0f}"), _limit(left), keep=_wanted())
    if journal.code is None:
        why = f"the kernel's log: journalctl was ended after {journal.seconds:.0f} s, read in part"
        return _log(journal.out.splitlines(), since, False, why)
    before = asking.ask((*_JOURNAL, f"--until=@{since:.0f}", "-n1"), _limit(left))
    if journal.code == 0 and (journal.out or before.out):
        return _log(journal.out.splitlines(), since, bool(before.out), "")
    return _ring(machine, since, journal.err.strip().partition("\n")[0], left)


def _limit(budget: Budget) -> float:
    return min(LIMIT_S, budget.left())


def _ring(machine: Machine, since: float, because: str, left: Budget) -> Log:
    """Of this boot, and of it only the last: new messages push out the old."""
    first: list[bytes] = []
    ring = asking.ask(("dmesg",), _limit(left), keep=_wanted(first))
    if ring.code is None:
        why = f"the kernel's log: dmesg was ended after {ring.seconds:.0f} s"
        return Log((), False, why)
    if ring.code != 0 or not first:
        why = because or ring.err.strip().partition("\n")[0] or "nothing is in it"
        return Log((), False, f"the kernel's log: {why[:200]}")
    booted = kernel_lines.boot_time(machine)
    lines = [kernel_lines.dated(line, booted) for line in ring.out.splitlines()]
    begins = kernel_lines.dated(first[0].decode("utf-8", "replace"), booted).partition(" ")[0]
    return _log(lines, since, _number(begins) <= since, "")


def _log(lines: Iterable[str], since: float, complete: bool, missing: str) -> Log:
    found = (one for one in kernel_log.messages(lines) if one.time >= since - 1)
    kept, left = kernel_kinds.chosen(found)
    if left:
        missing = (
            f"the kernel's log: {left} more lines of the same kinds, left out for their number"
        )
    if not complete:
        missing = missing or "the kernel's log before its first line: it does not reach back so far"
    return Log(tuple(kept), complete, missing)


def _wanted(first: list[bytes] | None = None) -> Callable[[bytes], bool]:
    """Keeps the lines about a death with their further lines, and the very first in `first`."""
    within = False

    def keep(line: bytes) -> bool:
        nonlocal within
        begins = _BEGINS.match(line)
        if begins:
            if first is not None and not first:
                first.append(line)
            text = line[begins.end() : begins.end() + kernel_log.LONGEST]
            within = bool(kernel_kinds.kind(text.decode("utf-8", "replace")))
        return within

    return keep


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("inf")
