"""Waiting for a state that somebody else brings about: the HA manager is asked and acts later."""

import time
from collections.abc import Callable, Iterable

from stoker.proxmox import refusals
from stoker.proxmox.backend import HA_S


def until(
    so: Callable[[], bool],
    asked: str,
    look: str,
    waits: Iterable[float],
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Return when `so`, looking after each of `waits` (seconds).

    TaskUnknown after HA_S seconds, with `look`, the command that shows it.
    """
    end = clock() + HA_S
    for wait in waits:
        if so():
            return
        if clock() + wait > end:
            break
        sleep(wait)
    why = f"the HA manager was asked and has not done it within {HA_S:g} s"
    raise refusals.unknown(asked, f"{why}; see {look}, and ha-manager status")
