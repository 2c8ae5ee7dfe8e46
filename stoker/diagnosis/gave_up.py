"""`gave-up`: called by systemd when it starts a unit no more; the reason then is in its status."""

from __future__ import annotations

import time
from dataclasses import replace

from stoker.diagnosis import ends, reports, unit_state
from stoker.diagnosis.judging import judged
from stoker.diagnosis.limits import bounded_memory
from stoker.diagnosis.loops import loop
from stoker.diagnosis.reports import Report
from stoker.diagnosis.saying import ERROR, say
from stoker.diagnosis.unit_state import UnitState
from stoker.health.crash.telling import paragraph


def gave_up(unit: str) -> None:
    """Say it, with the first failure of the loop; nothing after a stop that was asked for.

    That ends as failed too, since 0.5.12 ends it by KILL.
    """
    bounded_memory()
    state = unit_state.look(unit)
    if state.active != "failed":
        return
    deaths = loop(reports.read(reports.path_of(unit)))
    if not deaths or deaths[-1].invocation != state.invocation:
        unreported = _unreported(state)
        if unreported is None:
            return
        deaths = loop([*deaths, unreported])
    told = paragraph(deaths[0].verdict, f"{unit} {_sentence(deaths)}")
    # `systemctl status` shows ten lines; the server's own last ones are further up in the journal.
    say(unit, [line for line in told if not line.startswith("  last line")], ERROR)


def _sentence(deaths: tuple[Report, ...]) -> str:
    first, last = deaths[0].death, deaths[-1].death
    starts = last.restarts - first.restarts + 1
    if starts == 1:
        return "gave up after one start"
    lasted = (last.ended or 0) - (first.started or first.ended or 0)
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(first.ended))
    return f"gave up after {starts} starts in {_span(lasted)}; the first failure, {when}"


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{max(seconds, 0):.0f} s"


def _unreported(state: UnitState) -> Report | None:
    """The last start, of which there is no report: it could not be written, or it is no death."""
    death = state.death()
    # The restart that was refused is counted already.
    death = replace(death, restarts=max(death.restarts - 1, 0))
    if ends.asked_for(death, state.invocation, queued=False):
        return None
    verdict = judged(state, state.invocation).with_end(death)
    return Report(time.time(), state.invocation, death, verdict)
