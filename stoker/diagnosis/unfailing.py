"""Whatever happens to a diagnosis: it ends well, and why it says nothing is in the journal."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from types import FrameType

from stoker.diagnosis.limits import TooLate, unbounded_memory
from stoker.diagnosis.saying import ERROR, say


def unfailing(unit: str, act: Callable[[str], None]) -> None:
    """Do it; an exception becomes a sentence in the unit's journal, and no failure of the unit.

    The unit's own limit ends a diagnosis by TERM, which is one of them.
    """
    signal.signal(signal.SIGTERM, _ended)
    try:
        act(unit)
    except BaseException as error:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # Standard error may be a pipe that nobody reads; nothing is left to be done then.
        with contextlib.suppress(Exception):
            unbounded_memory()
            say(unit, [sentence(unit, error)], ERROR)


def sentence(unit: str, error: BaseException) -> str:
    """Of one line."""
    if isinstance(error, TooLate):
        why = "its time was up"
    elif isinstance(error, MemoryError):
        why = "there is no memory left for it"
    else:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:500]
    log = f"journalctl -u {unit}"
    return f"{unit}: cannot say why it ended: {why} (process {os.getpid()}); read {log} yourself"


def _ended(number: int, frame: FrameType | None) -> None:
    raise TooLate
