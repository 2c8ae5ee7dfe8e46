"""What a log comes to in which no line shows a cause: healthy, stopped, or an honest "no cause"."""

from __future__ import annotations

from stoker.health.crash import wording
from stoker.health.crash.choosing import Outcome
from stoker.health.crash.clock import epoch
from stoker.health.crash.peeling import peel
from stoker.health.crash.reading import Reading
from stoker.health.crash.runs import Ending, Run
from stoker.health.crash.verdict import HEALTHY, Verdict

_SIGNALS = {
    "-6": "SIGABRT",
    "-7": "SIGBUS",
    "-9": "SIGKILL",
    "-11": "SIGSEGV",
    "-15": "SIGTERM",
}
STOPPED = "it was asked to stop"
"""The detail of a healthy verdict whose server was stopped on request."""
_HANG_S = 300.0
"""So long without a word, where ranks meet, is a hang."""
_LAST = 6


def verdict(outcome: Outcome, reading: Reading) -> Verdict:
    """The verdict of a run without a cause."""
    run = outcome.run
    if outcome.kind in ("healthy", "stopped"):
        hang = _hang(outcome)
        return hang if hang else _healthy(outcome)
    if outcome.kind == "open":
        return _open(outcome, reading)
    if _asked_by_signal(run):
        return _healthy(outcome)
    return _hang(outcome) or _loop(reading) or _silent(outcome, reading)


def _healthy(outcome: Outcome) -> Verdict:
    run = outcome.run
    phase = "serving" if run.decoded and run.ready else "ready" if run.ready else _phase(run)
    if outcome.kind == "stopped" or outcome.ending:
        cause = "it was stopped on request" + (
            "" if run.ready else f", {wording.PHASE_WORDS.get(phase, 'before it was ready')}"
        )
    else:
        cause = "nothing is wrong: as far as the log goes, the server is up"
    details = (STOPPED,) if cause.startswith("it was stopped") else ()
    return Verdict(HEALTHY, phase, None, "", cause, "Do nothing.", "high", details=details)


def _open(outcome: Outcome, reading: Reading) -> Verdict:
    run = outcome.run
    phase = _phase(run)
    if not run.program and not run.systemd and run.kernel:
        return Verdict(
            HEALTHY, "host", None, "", "no line of the kernel's is a fault", "Do nothing.", "medium"
        )
    if not (run.program or run.systemd or run.kernel):
        cause = "the log is empty"
    elif reading.broken_off:
        cause = "the log breaks off inside of a traceback, before the error that it was about"
    elif not run.phases.last:
        cause = "the log shows neither a start of a server nor a fault"
    else:
        where = wording.PHASE_WORDS.get(phase, "before the server was ready")
        cause = (
            f"the log ends {where}, without an error and without a word of an end: it was still "
            "running, it hangs, or it was killed without a trace"
        )
    return _no_cause(phase, None, cause, reading)


def _silent(outcome: Outcome, reading: Reading) -> Verdict:
    run, end = outcome.run, outcome.ending
    if end is None:
        return _no_cause(_phase(run), None, "the log shows no cause", reading)
    codes = [one.status for one in run.endings if one.kind == "wrapper" and one.status]
    code = codes[0] if codes else ""
    if code == "-7":
        return _of(
            "sigbus_shm",
            end,
            run,
            "a process of the server died of SIGBUS, as it does when /dev/shm is full",
        )
    exits = [one for one in run.endings if one.kind in ("exit", "control")]
    how = f"{_SIGNALS[code]} ({code})" if code in _SIGNALS else code
    first = next((one for one in run.endings if one.kind == "wrapper"), None)
    if how:
        cause = f"a process of the server ended with {how}, and no line says why"
    elif first:
        cause = "a process of the server died, and no line says why"
    elif exits:
        cause = f"the server ended ({exits[0].status}) without any error line"
    else:
        cause = "the server ended without any error line"
    shown = end if not exits or how or first else exits[0]
    return _no_cause(_phase(run), shown, cause, reading)


def _loop(reading: Reading) -> Verdict | None:
    """Nothing but systemd, starting it again and again."""
    runs = [*reading.record.loop, reading.record.run]
    restarts = [run.restart for run in runs if run.restart]
    if any(run.program for run in runs) or not restarts:
        return None
    counted = max(int(one.status or 0) for one in restarts)
    if counted < 2 and not any(run.limit for run in runs):
        return None
    given_up = " and then gave up" if any(run.limit for run in runs) else ""
    cause = (
        f"systemd started the unit again and again (restart {counted}){given_up}; the log holds "
        "nothing that the program itself said"
    )
    return _of("restart_loop", restarts[0], runs[0], cause, phase="systemd")


def _hang(outcome: Outcome) -> Verdict | None:
    """Ranks that wait for each other until somebody ends it."""
    run, end = outcome.run, outcome.ending
    phase, since = run.phases.last, run.phases.last_stamp
    if run.ready or phase not in ("dist_init", "graph_capture") or len(run.phases.by_rank) < 2:
        return None
    if end is None or end.stamp is None or since is None or end.stamp - since < _HANG_S:
        return None
    cause = (
        f"the ranks said nothing for {end.stamp - since:.0f} s {wording.PHASE_WORDS[phase]}, until "
        "they were ended"
    )
    return _of("nccl_hang", end, run, cause, phase=phase)


def _asked_by_signal(run: Run) -> bool:
    """Whether all that died of it was ended by SIGTERM after it had been ready."""
    codes = [one.status for one in run.endings if one.kind == "wrapper" and one.status]
    return run.ready and bool(codes) and set(codes) == {"-15"}


def _of(name: str, end: Ending, run: Run, cause: str, phase: str = "") -> Verdict:
    at = phase or _phase(run)
    return Verdict(
        name=name,
        phase=at,
        line=end.number,
        text=wording.shown(end.text),
        cause=wording.shown(cause),
        action=wording.action(name, at, "", run.phases.newer, ""),
        confidence="medium",
        time=epoch(end.stamp, end.year),
    )


def _no_cause(phase: str, end: Ending | None, cause: str, reading: Reading) -> Verdict:
    lines = [peel(0, raw).text.strip() for raw in reading.sieve.last_lines]
    last = [wording.shown(f"last lines: {line}") for line in lines if line][-_LAST:]
    return Verdict(
        name="silent_death",
        phase=phase,
        line=end.number if end else None,
        text=wording.shown(end.text) if end else "",
        cause=wording.shown(cause),
        action=wording.action("silent_death", phase, "", None, ""),
        confidence="low",
        time=epoch(end.stamp, end.year or reading.year) if end else None,
        details=("looked at: the log", *last),
    )


def _phase(run: Run) -> str:
    first = next((one.phase for one in run.endings if one.phase), "")
    if first in ("", "ready") and run.served and not run.phases.last:
        return "decode"
    phase = first or run.phases.last
    if phase == "ready" and run.served and run.endings:
        return "decode"
    if phase:
        return phase
    return "import" if run.program else "systemd" if run.systemd else "unknown"
