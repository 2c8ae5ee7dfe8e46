"""How a start ended, and whether somebody asked for it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from stoker.diagnosis import journal
from stoker.diagnosis.running import Failed, answer
from stoker.diagnosis.unit_state import UnitState
from stoker.health.crash.death import Death

SLACK_S = 0.05
"""Between the clocks of systemd and the journal; a server takes longer to stop."""
_STOPS = ("stop", "restart", "try-restart")


def told(state: UnitState, said: Mapping[str, str]) -> Death:
    """Of what systemd gives an `ExecStopPost=` in its environment."""
    ran = bool(said.get("EXIT_CODE"))
    return Death(
        unit=state.unit,
        result=said.get("SERVICE_RESULT", ""),
        code=said.get("EXIT_CODE", ""),
        status=said.get("EXIT_STATUS", ""),
        started=state.started,
        ended=(state.ended if ran else None) or time.time(),
        restarts=state.restarts,
    )


def asked_for(death: Death, invocation: str, queued: bool) -> bool:
    """Whether it ended because somebody had systemd stop it.

    `queued`: systemd is at work on that now. How it ended says nothing: 0.5.12 ends its own stop
    by KILL. What had ended before it was asked to is a death all the same.
    """
    return judged(death, journal.stopping(invocation), queued)


def judged(death: Death, asked_at: float | None, queued: bool) -> bool:
    """The same, given when systemd began to stop it; None: the journal tells of no such thing."""
    if asked_at is None:
        return queued
    return death.ended is None or asked_at <= death.ended + SLACK_S


def stop_queued(unit: str) -> bool:
    """Whether systemd is at work to stop or restart it because somebody asked."""
    try:
        jobs = answer(["systemctl", "list-jobs", "--no-legend", "--no-pager", "--plain"])
    except Failed:
        return False
    rows = (line.split() for line in jobs.splitlines())
    return any(len(row) >= 3 and row[1] == unit and row[2] in _STOPS for row in rows)
