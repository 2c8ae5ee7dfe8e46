"""A verdict in the words that a human reads, the same wherever it is shown."""

from __future__ import annotations

from stoker.health import wording
from stoker.health.crash.verdict import HEALTHY, Verdict


def paragraph(verdict: Verdict, what: str) -> list[str]:
    """Lines about `what` (a unit, a file): the cause, its line, what to do, where to read more.

    What would move a terminal's cursor is a dot: names and texts may come from anybody.
    """
    return [wording.printable(line) for line in _told(verdict, what)]


def _told(verdict: Verdict, what: str) -> list[str]:
    told = [f"{what}: {verdict.cause}"]
    if verdict.name == HEALTHY:
        return told
    if verdict.line is not None:
        told.append(f"  line {verdict.line}: {verdict.text}")
    elif verdict.text:
        told.append(f"  {verdict.text}")
    if verdict.line is None or verdict.confidence == "low":
        told += [f"  {detail}" for detail in verdict.details]
    told.append(f"  do: {verdict.action}")
    told.append(f"  more: stoker explain {verdict.name}")
    return told
