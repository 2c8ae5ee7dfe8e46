"""Reads that may block for ever, done in a forked child that is given up when it does not answer.

A process's mappings and command line are behind its memory lock, a driver's files behind the
driver's: on a stuck machine whoever reads them is stuck too. The child is then killed, and left
behind if even that does not end it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from typing import Any, Callable, Hashable, Iterable, Sequence, TypeVar

Key = TypeVar("Key", bound=Hashable)

PATIENCE_S = 0.5
"""How long one read may take before its child is given up."""
_DYING_S = 0.05
_GATHERING_S = 0.003  # answers come in their thousands: not each is worth waking up for

_abandoned: set[int] = set()


class Budget:
    """Seconds that several calls share."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left, never below zero."""
        return max(0.0, self._end - time.monotonic())


def answers(
    work: Callable[[Key], Any],
    keys: Iterable[Key],
    budget: Budget,
    patience_s: float | None = None,
) -> dict[Key, Any]:
    """What `work` gives for each key, as JSON keeps it; a key not answered in time is not there.

    `patience_s`: for one key, in place of `PATIENCE_S`.

    `work` runs in another process: what it changes is lost, and an exception is no answer.
    """
    done: dict[Key, Any] = {}
    waiting = list(keys)
    while waiting and budget.left():
        found = _ask_one_child(work, waiting, budget, patience_s or PATIENCE_S)
        done.update((waiting[at], answer[0]) for at, answer in enumerate(found) if answer)
        waiting = waiting[len(found) + 1 :]  # the one after the last answer does not answer
    return done


def children() -> frozenset[int]:
    """Children given up that have not ended yet."""
    for pid in list(_abandoned):
        _reap(pid)
    return frozenset(_abandoned)


def _ask_one_child(
    work: Callable[[Key], Any], keys: Sequence[Key], budget: Budget, patience_s: float
) -> list[Any]:
    """Answers for the first keys, up to the one that takes too long: each `[answer]` or `[]`."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_the_child(work, keys, writing)
    os.close(writing)
    try:
        return _collected(reading, len(keys), budget, patience_s)
    finally:
        os.close(reading)
        _end(pid)


def _be_the_child(work: Callable[[Key], Any], keys: Sequence[Key], writing: int) -> None:
    """Never returns. Keeps no file of its parent open: a lock must not live on in it."""
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(writing, 0)
        os.closerange(1, os.sysconf("SC_OPEN_MAX") if not _open_files() else max(_open_files()) + 1)
        for key in keys:
            _write(json.dumps(_answer(work, key)).encode() + b"\n")
    finally:
        os._exit(0)


def _open_files() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        return []


def _answer(work: Callable[[Key], Any], key: Key) -> list[Any]:
    try:
        return [work(key)]
    except Exception:
        return []


def _write(line: bytes) -> None:
    while line:
        line = line[os.write(0, line) :]


def _collected(reading: int, count: int, budget: Budget, patience_s: float) -> list[Any]:
    """Lines of the child, decoded, until all have come or one takes too long."""
    found: list[Any] = []
    rest = b""
    line = select.poll()  # select() takes no descriptor above 1023
    line.register(reading, select.POLLIN)
    while len(found) < count:
        ready = line.poll(min(patience_s, budget.left()) * 1000)
        data = os.read(reading, 1 << 16) if ready else b""
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        found.extend(json.loads(line) for line in lines)
        if len(found) < count:
            time.sleep(_GATHERING_S)
    return found


def _end(pid: int) -> None:
    """Kill the child; if it does not end at once it is remembered and left alone."""
    with contextlib.suppress(ProcessLookupError):  # reaped already, as gevent does where it is
        os.kill(pid, signal.SIGKILL)
    _abandoned.add(pid)
    end = time.monotonic() + _DYING_S
    while not _reap(pid) and time.monotonic() < end:
        time.sleep(0.001)


def _reap(pid: int) -> bool:
    try:
        ended = os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        ended = True
    if ended:
        _abandoned.discard(pid)
    return ended
