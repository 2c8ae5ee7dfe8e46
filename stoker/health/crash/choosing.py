"""Which line of a run is its cause: the earliest, with a few that outrank the others."""

from __future__ import annotations

from dataclasses import dataclass

from stoker.health.crash.line import KERNEL
from stoker.health.crash.runs import Candidate, Ending, Run

AUTHORITY = {"gsp_timeout": 1, "reboot_required": 2, "gpu_lost": 3}
"""Of the kernel's word over whatever a program made of it; the higher outranks the lower."""
UNKNOWN = "program_error"
"""The class of an exception that no row knows."""
_TOGETHER_S = 2.0
"""Ranks that fail within this fail of the same."""
_KERNEL_AFTER_S = 120.0
"""A GPU that is lost so much later than the program's failure is another matter."""
_SURVIVED_S = 5.0
_SURVIVED_KERNEL_S = 60.0
_SURVIVED_BATCHES = 3


@dataclass(frozen=True)
class Outcome:
    """What a run comes to."""

    kind: str
    """failed: with a cause. silent: it ended without one. healthy, stopped (asked to), open: the
    log ends before it was ready."""
    run: Run
    cause: Candidate | None = None
    shown: Candidate | None = None
    """The line to show, where an earlier warning says it better than the cause's own."""
    ending: Ending | None = None


def outcome(run: Run) -> Outcome:
    """What one run comes to, by itself."""
    cause = chosen(run)
    if cause and _ended_it(cause, run):
        return Outcome("failed", run, cause, _shown(cause, run), _first_ending(run))
    if run.died:
        return Outcome("silent", run, ending=_first_ending(run))
    if run.stop:
        return Outcome("stopped", run, ending=run.stop)
    return Outcome("healthy" if run.ready else "open", run)


def of_all(loop: list[Run], last: Run) -> Outcome:
    """The outcome that counts: the last run's, or the first failure's of the loop it is part of."""
    now = outcome(last)
    if now.kind in ("healthy", "stopped") or (last.ready and now.kind == "failed"):
        return now
    before = [outcome(run) for run in loop] if not last.ready else []
    every = [one for one in [*before, now] if one.kind in ("failed", "silent")]
    explained = next((one for one in every if one.kind == "failed"), None)
    if every and every[0].kind == "silent" and every[0].run.ready:
        return every[0]
    return explained or (every[0] if every else now)


def chosen(run: Run) -> Candidate | None:
    """The line that is the run's cause; None: there is none."""
    live = [one for one in run.candidates if not _asked_for(one, run) and not survived(one, run)]
    causes = sorted((one for one in live if _role(one) == "cause"), key=_order(live))
    kernel = _authority(causes)
    if kernel:
        return kernel
    sure = [one for one in causes if one.rule or one.fatal]
    if sure:
        return _known_beside(sure)
    guesses = [one for one in causes if one.fatal is None]
    echoes = [one for one in live if _role(one) == "echo"]
    hints = [one for one in live if _role(one) == "hint"]
    if guesses and hints:
        return hints[0]
    return next(iter([*guesses, *echoes]), None)


def survived(one: Candidate, run: Run) -> bool:
    """Whether its process went on as if nothing had been."""
    if _role(one) == "hint":
        return False
    if run.phases.ready is not None and run.phases.ready > one.number > 0:
        return True
    later = run.alive - one.alive
    past = None
    if run.alive_stamp is not None and one.stamp is not None:
        past = run.alive_stamp - one.stamp
    if one.origin == KERNEL:
        return later >= _SURVIVED_BATCHES and past is not None and past >= _SURVIVED_KERNEL_S
    if later >= _SURVIVED_BATCHES and (past is None or past >= _SURVIVED_S):
        return True
    return not one.fatal and run.phases.marked.get(one.rank, 0) > one.number


def name_of(one: Candidate) -> str:
    """The class that the line shows."""
    return one.rule.name if one.rule else UNKNOWN


def _role(one: Candidate) -> str:
    return one.rule.role if one.rule else "cause"


def _asked_for(one: Candidate, run: Run) -> bool:
    return run.stop is not None and one.number > run.stop.number


def _order(live: list[Candidate]):  # type: ignore[no-untyped-def]
    timed = all(one.stamp is not None for one in live)

    def key(one: Candidate) -> tuple[float, int]:
        early = _TOGETHER_S if one.origin == KERNEL else 0.0
        return ((one.stamp or 0.0) - early if timed else 0.0, one.number)

    return key


def _authority(causes: list[Candidate]) -> Candidate | None:
    kernel = [one for one in causes if one.origin == KERNEL and name_of(one) in AUTHORITY]
    if not kernel:
        return None
    best = max(kernel, key=lambda one: AUTHORITY[name_of(one)])  # the first of the highest
    other = next((one for one in causes if one.origin != KERNEL), None)
    if other and other.stamp is not None and best.stamp is not None:
        return best if best.stamp - other.stamp <= _KERNEL_AFTER_S else None
    return best


def _known_beside(causes: list[Candidate]) -> Candidate:
    """The first; where no row knows it, one of the same moment that a row knows."""
    first = causes[0]
    if first.rule:
        return first
    for one in causes:
        if one.rule and (
            first.stamp is None or one.stamp is None or one.stamp - first.stamp <= _TOGETHER_S
        ):
            return one
    return first


def _ended_it(cause: Candidate, run: Run) -> bool:
    """Whether the run ended of it, or cannot have lived on."""
    if _role(cause) in ("hint", "echo"):
        told = cause.rule is not None and cause.rule.voice in ("exception", "shell")
        return run.died or (told and _role(cause) == "echo" and not run.ready)
    if cause.rule is None and cause.fatal is None:
        return run.died or not run.ready
    return cause.fatal is not False or run.died


def _shown(cause: Candidate, run: Run) -> Candidate | None:
    """An earlier warning of the same class that says more than the failure itself."""
    for one in run.candidates:
        leads = one.rule is not None and one.rule.role == "hint" and one.rule.leads
        if leads and name_of(one) == name_of(cause) and one.number < cause.number:
            return one
    return None


def _first_ending(run: Run) -> Ending | None:
    before = [end for end in run.endings if run.stop is None or end.number < run.stop.number]
    return before[0] if before else None
