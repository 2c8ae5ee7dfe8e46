"""A log, of any size and in chunks of any size, to the one cause that it shows."""

from __future__ import annotations

from collections.abc import Iterable

from stoker.health.crash import choosing, ending, wording
from stoker.health.crash.choosing import Outcome
from stoker.health.crash.clock import epoch
from stoker.health.crash.kernel_lines import candidates
from stoker.health.crash.line import KERNEL
from stoker.health.crash.reading import Reading
from stoker.health.crash.runs import Candidate
from stoker.health.crash.verdict import Verdict


def diagnose(chunks: Iterable[bytes], version: str = "", dmesg: Iterable[bytes] = ()) -> Verdict:
    """What the log comes to, in constant memory; chunks may cut lines anywhere.

    `version`: SGLang's, if known; no line of its logs says it. `dmesg`: the node's kernel log,
    joined by time where both have one.
    """
    reading = Reading(version)
    reading.sieve.feed(chunks)
    reading.end()
    for one in candidates(dmesg, reading.record.run):
        reading.record.run.add(one)
    outcome = choosing.of_all(reading.record.loop, reading.record.run)
    if outcome.cause:
        return _failed(outcome, outcome.cause, reading.year, version)
    return ending.verdict(outcome, reading)


def _failed(outcome: Outcome, cause: Candidate, year: int | None, version: str) -> Verdict:
    name = choosing.name_of(cause)
    phase = phase_of(cause, outcome)
    line = outcome.shown or cause
    told = line if line.rule else cause
    rule = cause.rule
    confidence = rule.confidence if rule else "medium"
    # A node's log alone does not say which container and GPU are the server's.
    if (rule and rule.role == "hint") or not cause.number:
        confidence = "medium"
    if rule and not rule.prints(version):
        confidence = "low"
    return Verdict(
        name=name,
        phase=phase,
        line=line.number or None,
        text=wording.shown(line.text),
        cause=wording.cause(told, phase),
        action=wording.action(
            name, phase, rule.action if rule else "", outcome.run.phases.newer, version
        ),
        confidence=confidence,
        time=epoch(line.stamp if line.stamp is not None else cause.stamp, line.year or year),
        details=_details(outcome, cause),
    )


def phase_of(cause: Candidate, outcome: Outcome) -> str:
    """How far its rank had come."""
    rule, run = cause.rule, outcome.run
    if rule and rule.phase:
        return rule.phase
    phase = cause.phase
    if phase == "ready" and choosing.name_of(cause) != "port_in_use":
        return "decode" if run.served or cause.fatal or run.died else phase
    if rule and rule.usual and not run.phases.last and phase in ("", "import", "scheduler_init"):
        return rule.usual
    if phase:
        return phase
    if cause.origin == KERNEL:
        return _of_kernel_only(outcome)
    if run.served:
        return "decode"
    return (rule.usual if rule else "") or "import"


def _of_kernel_only(outcome: Outcome) -> str:
    """Of a kernel's line before any of the program's: where the program was when it failed."""
    run = outcome.run
    ours = [one.phase for one in run.candidates if one.origin != KERNEL and one.phase]
    if ours:
        return ours[0]
    if not (run.phases.last or run.endings or run.served):
        return "host"
    return "decode" if run.served else "unknown"


def _details(outcome: Outcome, cause: Candidate) -> tuple[str, ...]:
    """What else the log has for it, a few lines at most."""
    told: list[str] = []
    for one in outcome.run.candidates:
        if one is cause or one is outcome.shown or len(told) >= 4:
            continue
        told.append(wording.shown(f"line {one.number}: {one.text}" if one.number else one.text))
    if outcome.ending:
        told.append(wording.shown(f"line {outcome.ending.number}: {outcome.ending.text}"))
    return tuple(told)
