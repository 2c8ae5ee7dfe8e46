"""Which deaths belong to one restart loop: its first is what has to be cured."""

from __future__ import annotations

from collections.abc import Sequence

from stoker.diagnosis.reports import Report

SHORT_S = 7200
"""A start that lived as long as the unit's StartLimitIntervalSec is no part of a loop."""


def loop(reports: Sequence[Report]) -> tuple[Report, ...]:
    """The newest deaths that systemd restarted one after the other, oldest first.

    The first of them may have served for days; each after it lived shortly. None: no death.
    """
    found: list[Report] = []
    for one in reversed(reports):
        # Not by one each: a report may be missing, of a full disk for instance.
        if found and found[-1].death.restarts <= one.death.restarts:
            break
        found.append(one)
        if not _short(one):
            break
    return tuple(reversed(found))


def _short(one: Report) -> bool:
    death = one.death
    if death.started is None or death.ended is None:
        return True
    return death.ended - death.started < SHORT_S
