"""Giving back what a run has taken, on every way out and before the next run begins."""

from __future__ import annotations

from stoker.health.acts import Change
from stoker.health.evidence import memory_back
from stoker.health.situation import Situation
from stoker.recovery.acting import Acting


def give_back(acting: Acting, situation: Situation | None) -> tuple[str, ...]:
    """Undo the newest change first; sentences on what could not be undone, which stays recorded."""
    told = []
    for change in reversed(acting.record.changes):
        against = kept_back(change, situation)
        failure = against or _given_back(acting, change)
        if failure:
            told.append(failure)
            acting.journal.tell("kept", failure)
        else:
            acting.journal.tell("restored", f"gave back {change.kind} {change.name}")
    return tuple(told)


def _given_back(acting: Acting, change: Change) -> str:
    """One that fails for want of a disk keeps none of the others from being undone."""
    try:
        return acting.give_back(change)
    except OSError as error:
        return f"{change.kind} {change.name} may not be given back: {error}; run recover again"


def kept_back(change: Change, situation: Situation | None) -> str:
    """Why it is not the time for it: a server that starts with its container, onto memory in use,
    would die of it. One that waits for its GPUs itself does not."""
    if change.kind != "container" or situation is None or memory_back(situation):
        return ""
    bare = [unit.name for unit in situation.targets if unit.enabled and not unit.guarded]
    if not bare:
        return ""
    return (
        f"CT {change.name} is left stopped: memory is still in use and {', '.join(bare)} would "
        f"start onto it; when it is back: pct start {change.name}, or run recover again"
    )
