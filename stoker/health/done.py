"""What a run of the ladder may do and what it did so far."""

from __future__ import annotations

from dataclasses import dataclass

from stoker.health.acts import Change

Key = tuple[int, int]
"""A process for good: pid and start time in clock ticks."""


@dataclass(frozen=True)
class Task:
    """A thread in state D."""

    pid: int
    name: str
    where: str
    """As in `Stuck.where`."""
    frame: str


@dataclass(frozen=True)
class Permitted:
    """What the human allows beyond the default."""

    stop_running: bool = False
    restart: bool = False
    reset: bool = False
    reset_beside: bool = False
    """Reset although other GPUs of the node are in use."""
    reload: bool = False
    full: bool = False
    stop_services: tuple[str, ...] = ()
    ha: bool = False
    serve: bool = False
    release_s: float = 120.0
    """How long freed memory may take to come back."""


@dataclass(frozen=True)
class Done:
    """What this run did so far, and what it has to give back."""

    rungs: tuple[str, ...] = ()
    """In order; one that was climbed twice stands twice."""
    asked: frozenset[Key] = frozenset()
    """Processes that were sent TERM, or would have been."""
    ended: frozenset[Key] = frozenset()
    """Processes that were sent KILL."""
    wanted: frozenset[str] = frozenset()
    """Units that have to serve in the end."""
    changes: tuple[Change, ...] = ()
    """What has to be given back, oldest first."""
    gpus: tuple[tuple[str, int | None], ...] = ()
    """UUID and minor of each target GPU when the run began."""
    ran: bool = True
    """Whether the container ran when we began."""
    reset_this_boot: frozenset[str] = frozenset()
    """UUIDs of GPUs that any run has reset since the node booted."""
    reloaded_this_boot: bool = False
    failed: tuple[tuple[str, str], ...] = ()
    """Rung and sentence of each that was tried and refused by the system."""

    def times(self, rung: str) -> int:
        """How often that rung was climbed."""
        return self.rungs.count(rung)

    def since(self, rung: str) -> tuple[str, ...]:
        """Rungs after the last time of that one; all if it never was."""
        for place in range(len(self.rungs), 0, -1):
            if self.rungs[place - 1] == rung:
                return self.rungs[place:]
        return self.rungs
