"""The reports of a unit's deaths: a small file that everybody may read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from stoker.health.crash import report
from stoker.health.crash.death import Death
from stoker.health.crash.verdict import Verdict
from stoker.recovery.replacing import replace as put

FOLDER = "/var/lib/stoker/deaths"
KEPT = 10
MOST_BYTES = 1 << 20
"""What is read of a file; ours are far smaller."""
LONGEST = 1000
"""Characters of a text in it."""
MOST_DETAILS = 30


@dataclass(frozen=True)
class Report:
    """One death."""

    time: float
    """When it was reported, seconds since 1970."""
    invocation: str
    """systemd's id of the start that ended."""
    death: Death
    verdict: Verdict
    oom_kills: int | None = None
    """Processes that the OOM killer ended in the container since the report before, or since it
    started; None: the container does not see it."""
    oom_counter: int | None = None
    """The kernel's own count then."""


def is_service(unit: str) -> bool:
    """Whether that is a service's name, and one that a file may have."""
    return re.fullmatch(r"[A-Za-z0-9:_.@-]{1,200}\.service", unit) is not None


def path_of(unit: str, folder: str = FOLDER) -> str:
    """Where a unit's reports lie; ValueError: that is no unit's name."""
    if not is_service(unit):
        raise ValueError(f"{unit!r} is no service")
    return os.path.join(folder, f"{unit}.json")


def read(path: str) -> tuple[Report, ...]:
    """Oldest first; none if there is no such file or nobody can make sense of it."""
    try:
        # A pipe in its place would be waited for.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            return parsed((stream.read(MOST_BYTES) or b"").decode("utf-8", "replace"))
    except OSError:
        return ()


def parsed(text: str) -> tuple[Report, ...]:
    """The same of the file's text."""
    try:
        return tuple(_report(one) for one in json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ()


def keep(path: str, reports: Sequence[Report]) -> None:
    """The last of them; OSError as the kernel says it, and the old file is whole."""
    kept = [as_json(one) for one in reports[-KEPT:]]
    put(path, json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def as_json(one: Report) -> dict[str, Any]:
    """As the file has it, its texts cut to a bound."""
    verdict = one.verdict
    short = replace(
        verdict,
        text=verdict.text[:LONGEST],
        cause=verdict.cause[:LONGEST],
        action=verdict.action[:LONGEST],
        details=tuple(detail[:LONGEST] for detail in verdict.details[:MOST_DETAILS]),
    )
    return {**asdict(one), "death": asdict(one.death), "verdict": report.to_json(short)}


def _report(found: dict[str, Any]) -> Report:
    known = {key: found[key] for key in ("time", "invocation", "oom_kills", "oom_counter")}
    made = Report(
        **known, death=Death(**found["death"]), verdict=report.from_json(found["verdict"])
    )
    _require_types(made)
    return made


def _require_types(one: Report) -> None:
    """TypeError: some field is not what it is said to be; others calculate with it."""
    death, verdict = one.death, one.verdict
    texts = (one.invocation, death.unit, death.result, death.code, death.status, *verdict.details)
    texts += (verdict.name, verdict.phase, verdict.text, verdict.cause, verdict.action)
    moments = (one.time, death.started, death.ended, verdict.time)
    counts = (death.restarts, one.oom_kills, one.oom_counter, verdict.line)
    if not all(isinstance(text, str) for text in (*texts, verdict.confidence)):
        raise TypeError("a text is none")
    if not all(n is None or (isinstance(n, (int, float)) and 0 <= n < 1e11) for n in moments):
        raise TypeError("a time is none")
    if not all(n is None or isinstance(n, int) for n in counts) or None in (
        one.time,
        death.restarts,
    ):
        raise TypeError("a count is none")
