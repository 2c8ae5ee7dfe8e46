"""A unit of a container as its systemd tells it, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass

LOADING_S = 1800.0
"""An active unit this young that does not answer yet may still be loading its model."""


@dataclass(frozen=True)
class UnitState:
    """One look at a unit from inside its container, and what it said when it was asked."""

    name: str
    target: bool = True
    """Whether this run is about it; others are only looked at because they hold a GPU."""
    load: str = "loaded"
    """systemd's LoadState: `loaded`, `masked`, `not-found` ..."""
    active: str = "inactive"
    """systemd's ActiveState; `unknown` if nobody could be asked."""
    sub: str = "dead"
    result: str = "success"
    enabled: bool = False
    file: str = ""
    """Path of its file in the container."""
    cgroup: str = ""
    """As its systemd has it, `/system.slice/...`; empty while it has none."""
    main_pid: int | None = None
    """In the container's own numbering."""
    age_s: float | None = None
    """Of its main process."""
    restarts: int = 0
    gpus: tuple[str, ...] | None = None
    """UUIDs that its CUDA_VISIBLE_DEVICES leaves it; None: all of the container."""
    guarded: bool = False
    """Whether it waits for its GPUs' baseline before it starts."""
    url: str = ""
    """Where it answers from inside the container; empty: it cannot be asked."""
    model: str = ""
    python: str = ""
    """The interpreter that can ask it."""
    answers: bool | None = None
    """Whether a generated token came; None: not asked."""
    said: str = ""
    """Why no token came."""

    @property
    def standing(self) -> str:
        """`healthy`, `loading`, `silent` (asked, no token), `running` (cannot be asked),
        `unknown`, `restarting`, `stopping`, `failed`, `inactive`, `missing`."""
        if self.active == "active":
            return self._active()
        if self.active in ("activating", "reloading"):
            return "loading" if self.sub in ("start", "start-post", "reload") else "restarting"
        if self.active == "inactive" and self.load == "not-found":
            return "missing"
        others = {"deactivating": "stopping", "failed": "failed", "inactive": "inactive"}
        return others.get(self.active, "unknown")

    def _active(self) -> str:
        if self.answers:
            return "healthy"
        if self.answers is None:
            return "running"
        return "loading" if self.age_s is not None and self.age_s < LOADING_S else "silent"

    @property
    def maskable(self) -> bool:
        """Whether a runtime mask keeps it down: not if its file lies in /etc/systemd/system."""
        return not self.file.startswith("/etc/systemd/system/")


RUNS = frozenset({"healthy", "loading", "silent", "running", "unknown"})
"""Standings of a unit whose processes are nobody's leftovers."""


def wanted(units: tuple[UnitState, ...], serve: bool) -> frozenset[str]:
    """The target units that have to serve in the end, by what they were when the run began.

    One that was down stays down, unless `serve` asks for every enabled one.
    """
    down = {"inactive", "missing"}
    return frozenset(
        unit.name
        for unit in units
        if unit.target and (unit.standing not in down or (serve and unit.enabled))
    )
