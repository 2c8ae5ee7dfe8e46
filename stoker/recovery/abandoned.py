"""Commands that change the driver or a container: written down when they start, since none is ended
by us. While one is in the driver, nothing else of ours goes there."""

from __future__ import annotations

import time
from typing import Any, Sequence

from stoker.recovery import commands, stored
from stoker.recovery.machine import Machine


def note(machine: Machine, words: Sequence[str], pid: int, ticks: int, driver: bool) -> None:
    """Write it down with its start time: that names it for good."""
    told = {
        "words": list(words),
        "pid": pid,
        "start_ticks": ticks,
        "since": time.time(),
        "driver": driver,
    }
    stored.save(_path(machine), [*alive(machine), told])


def alive(machine: Machine) -> list[dict[str, Any]]:
    """Those that still run."""
    told = stored.load(_path(machine))
    return [one for one in told if _runs(one)] if isinstance(told, list) else []


def _runs(one: Any) -> bool:
    try:
        known = bool(one["words"]) and "driver" in one
        return known and commands.ticks_of(one["pid"]) == one["start_ticks"]
    except (KeyError, TypeError):
        return False


def of_driver(machine: Machine) -> list[dict[str, Any]]:
    """Those that still run and change the driver."""
    return [one for one in alive(machine) if one["driver"]]


def _path(machine: Machine) -> str:
    return f"{machine.run}/abandoned.json"
