"""Waiting for a state that somebody else brings about: the HA manager is asked and acts later."""

import time
from collections.abc import Callable

from stoker.proxmox.errors import TaskUnknown
from stoker.proxmox.tasks import pauses


def until(
    so: Callable[[], bool],
    asked: str,
    look: str,
    limit_s: float,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Return when `so`; TaskUnknown after limit_s seconds, with `look`, the command that shows."""
    end = clock() + limit_s
    for pause in pauses():
        if so():
            return
        if clock() + pause > end:
            raise TaskUnknown(
                f"cannot tell how it ended to {asked}: the HA manager was asked and has not done "
                f"it within {limit_s:g} s; see {look}, and ha-manager status"
            )
        sleep(pause)
