"""What is told of a container's changes: before they are made, and as they are made."""

import difflib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pyinfra import logger

from stoker.container import showing
from stoker.container.wanted import Wanted
from stoker.health.wording import printable
from stoker.operations.container.planning import Plan
from stoker.operations.following import say
from stoker.operations.once import warned
from stoker.refused import Refused


def show(host: Any, found: Plan) -> None:
    """The difference as it is about to be applied."""
    made = replace(found, creation=found.made_with)
    for line in lines(host.name, made):
        say(host, line)


def lines(name: str, found: Plan) -> list[str]:
    """What is to be set, as a diff."""
    if found.creates:
        return showing.lines(found.vmid, name, found.creation)
    return showing.lines(found.vmid, name, replace(found.difference, told=(), waiting=()))


def raw_lines(found: Plan) -> list[str]:
    """What goes of the raw lines in its file, and what comes for them."""
    if found.raw is None or found.text is None:
        return []
    changed = difflib.unified_diff(found.text.splitlines(), found.raw.splitlines(), n=0)
    marks = [line for line in changed if line[:2] not in ("--", "++", "@@")]
    return [f"CT {found.vmid}, its file:", *(f"{line[0]} {line[1:]}" for line in marks)]


def preview(host: Any, found: Plan, wanted: Wanted) -> None:
    """Of a run that is not executed yet: all that it would do."""
    for line in [*lines(host.name, found), *raw_lines(found)]:
        say(host, line)
    if found.actual is not None and found.busy:
        say(host, f"CT {found.vmid} is locked ({found.actual.lock}); would wait for that to end")
    if found.restarts and wanted.allow_restart:
        saved = " after a snapshot" if wanted.snapshot else ""
        say(host, f"CT {found.vmid} would be restarted{saved}, for {_waits(found)}")
    elif found.starts or (found.creates and wanted.started):
        say(host, f"CT {found.vmid} would be started")
    told(host, found, wanted)


def told(host: Any, found: Plan, wanted: Wanted) -> None:
    """What stays as it is, and why; each line once a run."""
    notes = [f"CT {found.vmid}: {note}" for note in found.notes]
    if found.restarts and not wanted.allow_restart:
        notes += _left(found)
    for note in notes:
        warned(host, note)


def doubted(host: Any, error: Exception) -> None:
    """Of a run that is not executed yet: what stands in its way as things are now."""
    for line in str(error).splitlines():
        host.log(f"as it is now: {printable(line)}", log_func=logger.warning)


def require_gpus(found: Plan) -> None:
    """Raises Refused for a container that has not got a GPU's node and gets it by a restart."""
    if not found.blind:
        return
    when, do = "at its next start", f"restart it yourself: pct reboot {found.vmid}"
    if found.raw is not None:
        when = "when its raw GPU lines are replaced, while it is stopped"
        do = f"stop it and run this again: pct shutdown {found.vmid}"
    raise Refused(
        f"cannot go on with CT {found.vmid}: it gets {', '.join(found.blind)} {when}, and its "
        f"servers need that; say allow_restart: True, or {do}"
    )


def _left(found: Plan) -> Iterator[str]:
    """What is not done since it may not be restarted; a start by somebody else replaces no raw
    lines."""
    here = "to have it restarted here: allow_restart: True"
    if found.later:
        keys = ", ".join(change.key for change in found.later)
        yield f"CT {found.vmid}: waits for its next start: {keys}; {here}"
    if found.raw is not None:
        yield f"CT {found.vmid}: its raw GPU lines are replaced only while it is stopped; {here}"


def _waits(found: Plan) -> str:
    raw = [] if found.raw is None else ["its raw GPU lines"]
    return ", ".join([*(change.key for change in found.later), *raw])
