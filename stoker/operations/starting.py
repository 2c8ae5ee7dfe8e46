"""Bringing servers up, and following each to its first token; and taking them down."""

import time
from dataclasses import dataclass, replace
from typing import Any

import gevent
from pyinfra import logger
from pyinfra.api import OperationError, QuoteString, StringCommand

from stoker.diagnosis.secrecy import Hiding
from stoker.facts.startup import Look, Question, Startup, Tokens
from stoker.operations import from_node, post_mortem
from stoker.operations.diagnosis import seen
from stoker.operations.foreign import clear_the_way
from stoker.serving.following import REFUSAL, Following, Patience, Verdict, waves
from stoker.serving.unit import Unit

PROGRESS_S = 10
LOOK_S = 1
STOP_S = 600
"""Above TimeoutStopSec: systemd has sent KILL long before, so what is left cannot die."""


@dataclass(frozen=True)
class Plan:
    """What has to be done for these units to serve."""

    units: tuple[Unit, ...]
    ours: frozenset[str]
    """Every unit that is wanted on the host, these and those that serve already."""
    right: frozenset[str]
    """Of these the process is right already: they are only followed."""
    stop_foreign: bool
    patience: Patience


def bring_up(state: Any, host: Any, plan: Plan) -> bool:
    """Start and follow; False after a failure, which is told in a sentence and the last lines."""
    return _told(host, lambda: _bring_up(host, plan))


def take_down(state: Any, host: Any, names: tuple[str, ...]) -> bool:
    """Stop these units of ours; False if one does not stop."""
    return _told(host, lambda: _stop(host, names))


def question(unit: Unit, pid: int) -> Question:
    """What to ask this unit's process for one token."""
    return Question(unit.name, unit.python, unit.local_url, unit.model, pid)


def _told(host: Any, act: Any) -> bool:
    try:
        act()
    except OperationError as error:
        for line in str(error).splitlines():
            host.log_styled(line, fg="red", log_func=logger.error)
        return False
    return True


def _bring_up(host: Any, plan: Plan) -> None:
    by_name = {unit.name: unit for unit in plan.units}
    starting = [unit for unit in plan.units if unit.name not in plan.right]
    from_node.require_free(host, starting)
    clear_the_way(host, starting, plan.ours, plan.stop_foreign)
    for wave in waves([(unit.name, unit.flagset) for unit in plan.units]):
        fresh = [name for name in wave if name not in plan.right]
        if fresh:
            _stop(host, tuple(fresh))
            # The ports are free now, or somebody else took them in between.
            clear_the_way(host, [by_name[name] for name in fresh], plan.ours, stop_foreign=False)
            _run(host, "start", "--no-block", *fresh)
        _follow(host, [by_name[name] for name in wave], plan.patience)


def _stop(host: Any, names: tuple[str, ...]) -> None:
    """Stop and forget how it ended: 0.5.12 ends its own stop by KILL, which systemd calls failed.

    Forgetting also clears a start limit that earlier failures used up.
    """
    _run(host, "stop", "--no-block", *names)
    began = told = time.monotonic()
    while left := [name for name in names if not _is_down(_look(host, name))]:
        now = time.monotonic()
        if now - began > STOP_S:
            raise OperationError(
                f"cannot stop {', '.join(left)}: still there after {STOP_S} s; "
                "recover the container from its node"
            )
        if now - told >= PROGRESS_S:
            _say(host, f"stopping {', '.join(left)}: {now - began:.0f} s")
            told = now
        gevent.sleep(LOOK_S)
    # A unit that systemd has never seen cannot be reset; that is no failure.
    _run(host, "reset-failed", *names, must=False)


def _follow(host: Any, units: list[Unit], patience: Patience) -> None:
    began = told = time.monotonic()
    courses = {unit.name: Following(began, patience) for unit in units}
    waiting, failed = {unit.name: unit for unit in units}, list[str]()
    while waiting:
        for name, unit in list(waiting.items()):
            verdict = _judge(host, unit, courses[name])
            if verdict is Verdict.ASK:
                _say(host, f"{name} answered 1 token after {time.monotonic() - began:.0f} s")
            elif verdict is not Verdict.WAIT:
                dead = verdict is Verdict.DEAD
                failed.append(_failure(host, unit, courses[name], dead))
            else:
                continue
            del waiting[name]
        if time.monotonic() - told >= PROGRESS_S:
            told = time.monotonic()
            for name in waiting:
                _say(host, _progress(name, courses[name], told - began))
        if waiting:
            gevent.sleep(LOOK_S)
    if failed:
        raise OperationError("\n".join(failed))


def _judge(host: Any, unit: Unit, course: Following) -> Verdict:
    """WAIT, DEAD, STALLED; ASK if it was asked and has answered."""
    look = _look(host, unit.name, unit)
    verdict = course.judge(look, time.monotonic())
    if verdict is not Verdict.ASK or look is None or look.main_pid is None:
        return verdict
    answers = host.get_fact(Tokens, questions=(question(unit, look.main_pid),))
    error = answers[unit.name].error if unit.name in answers else "nobody could be asked"
    # The process that answered must be the one that still listens.
    after = _look(host, unit.name, unit)
    if not error and after and after.listens and after.main_pid == look.main_pid:
        return Verdict.ASK
    return course.unanswered(error or "its process changed", time.monotonic())


def _look(host: Any, name: str, unit: Unit | None = None) -> Look | None:
    port, stage = (unit.port, unit.requires) if unit else (0, "")
    look: Look | None = host.get_fact(Startup, unit=name, port=port, stage=stage)
    if look is None or unit is None:
        return look
    # They go to a terminal and into the logs of whoever deploys.
    hiding = Hiding([value for _, value in unit.secrets])
    return replace(look, lines=hiding.lines([line.expandtabs() for line in look.lines]))


def _is_down(look: Look | None) -> bool:
    return look is None or (look.active in ("inactive", "failed") and not look.queued)


def _progress(name: str, course: Following, elapsed: float) -> str:
    last = course.last
    line = last.lines[-1] if last and last.lines else "no line yet"
    return f"{name}: {elapsed:.0f} s, {last.sub if last else 'unknown'}: {line}"


def _failure(host: Any, unit: Unit, course: Following, dead: bool) -> str:
    lines = course.last.lines if course.last else ()
    # It waited for its GPUs in vain: what holds them shows only from the node.
    waited = any(line.startswith(REFUSAL) for line in lines)
    held = from_node.told(host, unit) if waited else []
    told = post_mortem.lines(host, unit, course.invocation, course.why, lines, dead)
    if dead and course.invocation:
        seen(host, unit.name, course.invocation)
    return "\n".join([*told, *held])


def _run(host: Any, verb: str, *words: str, must: bool = True) -> None:
    command = StringCommand("systemctl", verb, *map(QuoteString, words))
    done, output = host.run_shell_command(command)
    if must and not done:
        raise OperationError(
            f"cannot {verb} {' '.join(words)}: systemctl says: {output.stderr}; correct it there"
        )


def _say(host: Any, text: str) -> None:
    host.log(text, log_func=logger.info)
