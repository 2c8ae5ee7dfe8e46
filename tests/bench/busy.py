"""A busy machine: many real processes with many open files, a few of which hold a device."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.recovery import holding

DEVICE = holding.FULL
"""A device that opens harmlessly and that nobody else has open."""


@dataclass(frozen=True)
class Crowd:
    """Processes that wait, until the end of the context they were made in."""

    pids: frozenset[int]
    """All of them."""
    holders: frozenset[int]
    """Those that hold the device."""
    node: Path
    """The device's node."""
    files: int
    """Open files of all of them together."""


@contextmanager
def crowd(folder: Path, processes: int, files: int, plain: int, leaderless: int) -> Iterator[Crowd]:
    """So many processes with so many files each.

    Of the holders some are plain; the others' main thread has ended and another one lives on.
    """
    with holding.in_a_folder(holding.compiled(folder), folder) as started:
        node = started.node(DEVICE, "nvidia0")
        hidden = [started.start(node, "--zombie-leader") for _ in range(leaderless)]
        held = {pid for one in hidden for pid in one.holding}
        with _waiting(processes - leaderless, files, plain, node) as pids:
            holders = held | set(pids[:plain])
            yield Crowd(frozenset({*held, *pids}), frozenset(holders), node, processes * files)


@contextmanager
def _waiting(processes: int, files: int, holders: int, node: Path) -> Iterator[list[int]]:
    """The first `holders` of them hold the node."""
    pids: list[int] = []
    reading, writing = os.pipe()
    try:
        for number in range(processes):
            pid = os.fork()
            if pid == 0:
                _wait(files, node if number < holders else None, writing)
            pids.append(pid)
        ready = 0
        while ready < processes:
            ready += len(os.read(reading, 4096))
        yield pids
    finally:
        os.close(reading)
        os.close(writing)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            os.waitpid(pid, 0)


def _wait(files: int, node: Path | None, ready: int) -> None:
    """Have files of several kinds open until killed. Never returns."""
    opened = len(os.listdir("/proc/self/fd")) - 1  # noqa: PTH208
    if node:
        os.open(node, os.O_RDONLY)
        opened += 1
    for number in range(files - opened):
        if number % 3 == 0:
            os.open("/dev/zero", os.O_RDONLY)
        elif number % 3 == 1:
            os.open("/etc/hostname", os.O_RDONLY)
        else:
            os.eventfd(0)
    os.write(ready, b".")
    signal.alarm(600)
    while True:
        signal.pause()
