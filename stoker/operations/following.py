"""Following servers that start: each to its first token, its death or its stall."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import gevent
from pyinfra import logger
from pyinfra.api import OperationError

from stoker.diagnosis.secrecy import Hiding
from stoker.facts.startup import Look, Question, Startup, Tokens
from stoker.health.wording import printable
from stoker.operations import from_node, post_mortem
from stoker.operations.diagnosis import seen
from stoker.serving.followed import Followed
from stoker.serving.following import REFUSAL, Following, Patience, Verdict

PROGRESS_S = 10
LOOK_S = 1
Beat = Callable[[], None]
"""Called at each look: the run lives."""


def question(unit: Followed, pid: int) -> Question:
    """What to ask this unit's process for one token."""
    return Question(unit.name, unit.python, unit.local_url, unit.model, pid)


def follow(
    host: Any, units: Sequence[Followed], patience: Patience, beat: Beat = lambda: None
) -> None:
    """Until each has answered; raises OperationError with the cause of every one that did not."""
    began = told = time.monotonic()
    courses = {unit.name: Following(began, patience) for unit in units}
    waiting, failed = {unit.name: unit for unit in units}, list[str]()
    while waiting:
        beat()
        for name, unit in list(waiting.items()):
            verdict = _judge(host, unit, courses[name])
            if verdict is Verdict.ASK:
                say(host, f"{name} answered 1 token after {time.monotonic() - began:.0f} s")
            elif verdict is not Verdict.WAIT:
                failed.append(failure(host, unit, courses[name], verdict is Verdict.DEAD))
            else:
                continue
            del waiting[name]
        if time.monotonic() - told >= PROGRESS_S:
            told = time.monotonic()
            for name in waiting:
                say(host, _progress(name, courses[name], told - began))
        if waiting:
            gevent.sleep(LOOK_S)
    if failed:
        raise OperationError("\n".join(failed))


def look_at(host: Any, name: str, unit: Followed | None = None) -> Look | None:
    """One look; with `unit` at its port, its staging and its lines too, without its secrets."""
    port, stage = (unit.port, unit.requires) if unit else (0, "")
    look: Look | None = host.get_fact(Startup, unit=name, port=port, stage=stage)
    if look is None or unit is None:
        return look
    # They go to a terminal and into the logs of whoever deploys.
    hiding = Hiding([value for _, value in unit.secrets])
    return replace(look, lines=hiding.lines([line.expandtabs() for line in look.lines]))


def failure(host: Any, unit: Followed, course: Following, dead: bool) -> str:
    """Why it is not up, from every half that can be had, and who holds its GPUs if that is it."""
    lines = course.last.lines if course.last else ()
    # It waited for its GPUs in vain: what holds them shows only from the node.
    waited = any(line.startswith(REFUSAL) for line in lines)
    held = from_node.told(host, unit) if waited else []
    told = post_mortem.lines(host, unit, course.invocation, course.why, lines, dead)
    if dead and course.invocation:
        seen(host, unit.name, course.invocation)
    return "\n".join([*told, *held])


def say(host: Any, text: str) -> None:
    """A line of the run's log; what others wrote moves no cursor."""
    host.log(printable(text, also="\n\t"), log_func=logger.info)


def _judge(host: Any, unit: Followed, course: Following) -> Verdict:
    """WAIT, DEAD, STALLED; ASK if it was asked and has answered."""
    look = look_at(host, unit.name, unit)
    verdict = course.judge(look, time.monotonic())
    if verdict is not Verdict.ASK or look is None or look.main_pid is None:
        return verdict
    answers = host.get_fact(Tokens, questions=(question(unit, look.main_pid),))
    error = answers[unit.name].error if unit.name in answers else "nobody could be asked"
    # The process that answered must be the one that still listens.
    after = look_at(host, unit.name, unit)
    if not error and after and after.listens and after.main_pid == look.main_pid:
        return Verdict.ASK
    return course.unanswered(error or "its process changed", time.monotonic())


def _progress(name: str, course: Following, elapsed: float) -> str:
    last = course.last
    line = last.lines[-1] if last and last.lines else "no line yet"
    return f"{name}: {elapsed:.0f} s, {last.sub if last else 'unknown'}: {line}"
