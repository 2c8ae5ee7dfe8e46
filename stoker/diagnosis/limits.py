"""How long a diagnosis may take and how much memory it may use: a restart waits for it."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

MEMORY_BYTES = 1 << 30
"""Of addresses, each process by itself; journalctl maps the journal's files in parts."""


class TooLate(BaseException):
    """The time is up. No Exception: what bounds an error of its own must not swallow it."""


def bounded_memory() -> None:
    """This process and its children may use so much and no more."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def unbounded_memory() -> None:
    """The bound is lifted again, for the last words."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """`TooLate` is raised inside once the time is up; one at a time."""
    before = signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _late(number: int, frame: FrameType | None) -> None:
    raise TooLate
