"""The course of a run: one JSON object a line, for whoever follows it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from typing import Any, Callable

from stoker.recovery.machine import Machine

Tell = Callable[[str], None]

LONGEST = 8000
"""Characters of a text: a program in a container may say as much as it likes."""


def path(machine: Machine, vmid: int) -> str:
    """Where the course of that container's run is."""
    return f"{machine.run}/recover-{vmid}.jsonl"


class Journal:
    """Lines of one run, in a file that it holds locked for as long as it lives, and to `also`."""

    def __init__(
        self, file: int | None, also: Tell | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._file = file
        self._also = also
        self._clock = clock
        self._left_out: frozenset[str] = frozenset()

    def without(self, *events: str) -> Journal:
        """The same, in which these events are not told."""
        other = Journal(self._file, self._also, self._clock)
        other._left_out = frozenset(events)
        return other

    @classmethod
    def opened(
        cls, machine: Machine, vmid: int, run: str = "", also: Tell | None = None
    ) -> Journal:
        """A new one in the place of the last run's."""
        place = path(machine, vmid)
        os.makedirs(machine.run, mode=0o755, exist_ok=True)
        new = f"{place}.{os.getpid()}.new"
        file = os.open(
            new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        fcntl.flock(file, fcntl.LOCK_EX)
        journal = cls(file, also)
        journal.tell("start", f"recovery of CT {vmid}", run=run, pid=os.getpid())
        os.replace(new, place)
        return journal

    def tell(self, event: str, text: str, rung: str = "", **more: Any) -> None:
        """One line more."""
        if event in self._left_out:
            return
        text = text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
        told = {"time": round(self._clock(), 3), "rung": rung, "event": event, "text": text, **more}
        line = json.dumps(told, ensure_ascii=False)
        if self._file is not None:
            with contextlib.suppress(OSError):  # nobody can follow it on a full disk; it goes on
                os.write(self._file, line.encode("utf-8", "replace") + b"\n")
        if self._also is not None:
            self._also(line)
