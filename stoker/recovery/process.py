"""One process as /proc tells it, read through its open directory so that a pid cannot change hands.

What is read here never blocks: no memory lock is taken.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from stoker.health.stuck import KERNEL_THREAD


@dataclass(frozen=True)
class Stat:
    """The fields of /proc/<pid>/stat that matter."""

    name: str
    state: str
    flags: int
    threads: int
    start_ticks: int

    @property
    def kernel(self) -> bool:
        """Whether it is a thread of the kernel: it has no files."""
        return bool(self.flags & KERNEL_THREAD)

    @property
    def ended(self) -> bool:
        """Whether it has ended altogether and only waits to be reaped."""
        return self.state in ("Z", "X") and self.threads <= 1


def parse_stat(text: str) -> Stat:
    """A stat file; its name may have spaces and brackets. ValueError if it is none."""
    head, bracket, tail = text.rpartition(")")
    fields = tail.split()
    if not bracket or len(fields) < 20:
        raise ValueError(f"not a stat file: {text[:80]!r}")
    return Stat(
        name=head.partition("(")[2],
        state=fields[0],
        flags=int(fields[6]),
        threads=int(fields[17]),
        start_ticks=int(fields[19]),
    )


def parse_pids(status: str) -> int | None:
    """The pid in its innermost namespace, from a status file; None if it does not say."""
    found = re.search(r"^NSpid:.*?(\d+)[ \t]*$", status, re.MULTILINE)
    return int(found[1]) if found else None


def parse_pending(status: str) -> int:
    """Signals pending for a thread or its process, from a status file."""
    masks = re.findall(r"^(?:SigPnd|ShdPnd):\s*([0-9a-f]+)", status, re.MULTILINE)
    return sum(int(mask, 16) for mask in masks[:1]) | sum(int(mask, 16) for mask in masks[1:2])


def read(directory: int, name: str) -> str:
    """A file of the process whose directory is open; OSError as from open and read."""
    file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)
    try:
        return os.read(file, 1 << 16).decode("utf-8", "replace")
    finally:
        os.close(file)
