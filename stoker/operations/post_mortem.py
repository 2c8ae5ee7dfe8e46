"""Why a server that was being brought up is not up: its cause, from every half that can be had."""

from typing import Any

from stoker.facts.deaths import UnitDeath, UnitDeaths
from stoker.health.crash.beside import BEFORE_S
from stoker.health.crash.joining import joined
from stoker.health.crash.telling import paragraph
from stoker.health.crash.verdict import HEALTHY, Verdict
from stoker.operations import from_node
from stoker.serving.followed import Followed

MOST_LINES = 12
"""Last lines of a log whose cause is known."""
MOST_OWN = 3
"""Of the last lines that a paragraph without a cause quotes, where the log's own follow."""
UNCLEAR = (HEALTHY, "silent_death")


def lines(
    host: Any, unit: Followed, invocation: str, why: str, last: tuple[str, ...], dead: bool
) -> list[str]:
    """What a human reads: the cause, its line and what to do, then the last lines.

    `why`: what was seen of it from outside; `last`: its last lines as the following saw them.
    """
    what = f"cannot serve {unit.flagset} by {unit.name}"
    verdict = _verdict(host, unit.name, invocation, dead)
    if verdict is None or (not dead and verdict.name in UNCLEAR):
        stall = "" if dead else f"; its last sign of life: {last[-1] if last else 'none'}"
        told = [f"{what}: {why}{stall}; its last lines follow, correct the cause and run again"]
        told += [f"    {line}" for line in last or ("(it wrote no line)",)]
        return told
    first, *rest = _few_last(paragraph(verdict, what))
    told = [f"{first} ({why})", *(f"  {line}" for line in rest)]
    shown = last[-MOST_LINES:] if verdict.name not in UNCLEAR else last
    return [*told, "    its last lines:", *(f"      {line}" for line in shown)]


def _few_last(told: list[str]) -> list[str]:
    quoted = [line for line in told if line.startswith("  last line")]
    return [line for line in told if line not in quoted[:-MOST_OWN]]


def _verdict(host: Any, unit: str, invocation: str, dead: bool) -> Verdict | None:
    """None: the container has nothing that could say it."""
    if not invocation:
        return None
    found: UnitDeath | None = host.get_fact(UnitDeaths, units=(unit,), invocation=invocation).get(
        unit
    )
    if found is None:
        return None
    if not dead:
        return found.verdict
    since = found.death.started if found.death else None
    # What broke the GPU may have come before the start.
    side = from_node.host_side(host, since - BEFORE_S) if since else None
    return joined(found.verdict, found.death, side)
