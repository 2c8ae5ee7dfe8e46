"""The verdict on one start of a unit, within its time."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stoker.diagnosis import unit_file
from stoker.diagnosis.journal import Log
from stoker.diagnosis.limits import TooLate, within
from stoker.diagnosis.running import Failed
from stoker.diagnosis.secrecy import Hiding
from stoker.diagnosis.unit_state import UnitState
from stoker.health.crash.classes import known
from stoker.health.crash.death import Death
from stoker.health.crash.diagnosing import diagnose
from stoker.health.crash.joining import UNREAD, joined
from stoker.health.crash.verdict import Verdict

LOG_S = 10.0
"""For one log: a restart waits for it."""
NO_CAUSE = "silent_death"


@dataclass(frozen=True)
class Judged:
    """What one start came to."""

    verdict: Verdict
    """Of the log alone."""
    last_lines: tuple[str, ...]

    def with_end(self, death: Death) -> Verdict:
        """The same, joined with how systemd saw it end."""
        return joined(self.verdict, death, None)


def judged(state: UnitState, invocation: str, limit_s: float = LOG_S) -> Judged:
    """Never fails: where the log could not be judged, the verdict says so."""
    told = unit_file.told(state.fragment)
    hiding = Hiding(unit_file.secrets(state.env_files, told.get("Secrets", "")))
    log = Log(invocation)
    verdict = numbered(_verdict(log, told.get("SGLang", ""), limit_s), log.cut_after)
    return Judged(hiding.verdict(verdict), hiding.lines(log.last_lines()))


def _verdict(log: Log, version: str, limit_s: float) -> Verdict:
    began = time.monotonic()
    try:
        with within(limit_s):
            return diagnose(log.chunks(), version)
    except Failed as error:
        return _unknown(f"its log cannot be read: {error}", log)
    except TooLate:
        took = time.monotonic() - began
        return _unknown(f"its log was not judged to the end within {took:.0f} s", log)
    except MemoryError:
        return _unknown("there is no memory left to judge its log", log)
    # Whatever a hostile log may bring about: the report is kept, and systemd goes on.
    except Exception as error:
        return _unknown(f"its log cannot be judged: {type(error).__name__}: {error}", log)


def _unknown(cause: str, log: Log) -> Verdict:
    return Verdict(
        name=NO_CAUSE,
        phase="unknown",
        line=None,
        text="",
        cause=cause,
        action=known()[NO_CAUSE].action,
        confidence="low",
        details=(UNREAD, *_details(log.last_lines())),
    )


def _details(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"last line: {line}" for line in lines[-3:])


def numbered(verdict: Verdict, cut: int | None) -> Verdict:
    """A line after what was left out has no number that anybody could look up.

    `cut`: whole lines before that; None: nothing was left out.
    """
    if cut is None:
        return verdict
    details = tuple(_unnumbered(detail, cut) for detail in verdict.details)
    line = verdict.line if verdict.line is not None and verdict.line <= cut else None
    return replace(verdict, line=line, details=details)


def _unnumbered(detail: str, cut: int) -> str:
    found = re.match(r"line (\d{1,12}): ", detail)
    return detail[found.end() :] if found and int(found[1]) > cut else detail
