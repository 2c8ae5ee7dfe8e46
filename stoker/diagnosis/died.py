"""`died`: called by systemd at the end of every start, before it starts the server anew."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace

from stoker.diagnosis import ends, journal, oom, reports, unit_state
from stoker.diagnosis.judging import judged
from stoker.diagnosis.limits import bounded_memory
from stoker.diagnosis.reports import Report
from stoker.diagnosis.saying import say
from stoker.health.crash.telling import paragraph
from stoker.health.crash.verdict import Verdict


def died(unit: str, said: Mapping[str, str] = os.environ) -> None:
    """Say why in the unit's journal and keep a report; nothing after a stop that was asked for."""
    bounded_memory()
    os.umask(0o022)  # the unit's own would close the reports' folder to everybody else
    path = reports.path_of(unit)
    state = unit_state.look(unit)
    invocation = said.get("INVOCATION_ID") or state.invocation
    death = ends.told(state, said)
    queued = ends.stop_queued(unit)
    if not queued:
        journal.caught_up()
    if ends.asked_for(death, invocation, queued):
        return
    before = reports.read(path)
    counter = oom.counter()
    earlier = before[-1].oom_counter if before else None
    kills = oom.since(counter, earlier)
    death = replace(
        death,
        asked=False if state.active else None,  # of a systemd that does not answer nobody knows
        oom_kills=None if earlier is None else kills,
    )
    verdict = _with(judged(state, invocation).with_end(death), kills)
    say(unit, paragraph(verdict, unit))
    made = Report(time.time(), invocation, death, verdict, kills, counter)
    try:
        reports.keep(path, (*before, made))
    except OSError as error:
        say(unit, [f"{unit}: cannot keep the report of this death in {path}: {error.strerror}"])


def _with(verdict: Verdict, kills: int | None) -> Verdict:
    """What the OOM killer did is no cause by itself: it may have been somebody else's process."""
    if not kills:
        return verdict
    told = (
        f"the OOM killer ended {kills} process(es) of this container since the last report, "
        "or since the container started"
    )
    return replace(verdict, details=(*verdict.details, told))
