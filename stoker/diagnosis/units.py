"""`units`: what each unit's last death came to, for whoever asks; judged anew by this version."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from stoker.diagnosis import reports, unit_state
from stoker.diagnosis.judging import Judged, judged
from stoker.diagnosis.limits import bounded_memory
from stoker.diagnosis.loops import loop
from stoker.diagnosis.reports import Report
from stoker.diagnosis.unit_state import UnitState
from stoker.health.crash import report
from stoker.health.crash.death import Death


@dataclass(frozen=True)
class Told:
    """One start of a unit, with all that is known of it."""

    unit: str
    death: Death | None
    """None: it runs."""
    judged: Judged
    reports: tuple[Report, ...]

    def as_json(self) -> dict[str, Any]:
        """As it is printed."""
        return {
            "unit": self.unit,
            "death": asdict(self.death) if self.death else None,
            "verdict": report.to_json(self.judged.verdict),
            "reports": [reports.as_json(one) for one in self.reports],
            "last_lines": self.judged.last_lines,
        }


def told(units: Sequence[str], invocation: str) -> None:
    """Print one JSON object a line; `invocation`: judge that start, not the one that counts."""
    bounded_memory()
    for unit in filter(reports.is_service, units or unit_state.ours()):
        json.dump(of(unit, invocation).as_json(), sys.stdout)
        print(flush=True)


def of(unit: str, invocation: str) -> Told:
    """Of a unit that runs its present start; else the first death of the loop that ended it."""
    state, kept = unit_state.look(unit), reports.read(reports.path_of(unit))
    chosen = _chosen(state, kept, invocation)
    if chosen is None:
        which = invocation or state.invocation
        return Told(unit, _death(state, which), judged(state, which), kept)
    found = judged(state, chosen.invocation)
    if not found.last_lines:  # the journal has let go of it
        found = replace(found, verdict=chosen.verdict)
    return Told(unit, chosen.death, found, kept)


def _death(state: UnitState, invocation: str) -> Death | None:
    """How that start ended, without a report of it: systemd knows only of the last one."""
    if invocation != state.invocation:
        return Death(state.unit, "", "", "", None, None)
    ended = state.ended is not None or state.active == "failed"
    return state.death() if ended and not state.runs else None


def _chosen(state: UnitState, kept: Sequence[Report], invocation: str) -> Report | None:
    """The report of the death that is asked about; None: there is none of it."""
    if invocation:
        return next((one for one in kept if one.invocation == invocation), None)
    deaths = loop(kept)
    if state.runs or not deaths or deaths[-1].invocation != state.invocation:
        return None
    return deaths[0]
