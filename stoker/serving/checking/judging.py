"""The verdict on one question: every check in its order, each reason once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stoker.refused import Refused
from stoker.serving.checking.parts import part
from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason, Verdict

Told = tuple[Iterable[Reason], Iterable[str]]
"""Reasons and notes of one check."""


@dataclass(frozen=True)
class Check:
    """One part of the checks, by the name that an error of its own is told under."""

    name: str
    run: Callable[[Question], Told]


def judge(
    question: Question, rules: Sequence[Any] = (), waivers: Mapping[str, str] | None = None
) -> Verdict:
    """Flags, known-bad rows, fitting, memory, weights: refusals first, else in this order.

    Raises `Refused` if a check fails of itself: what was not checked must not pass.
    """
    reasons: dict[tuple[str, str], Reason] = {}
    notes: dict[str, None] = {}
    for check in _checks(rules, waivers):
        found, said = _run(check, question)
        for reason in found:
            reasons.setdefault((reason.name, reason.message), reason)
        notes.update(dict.fromkeys(said))
    worst_first = sorted(reasons.values(), key=lambda reason: reason.severity != "refuse")
    return Verdict(tuple(worst_first), tuple(notes))


def _run(check: Check, question: Question) -> tuple[list[Reason], list[str]]:
    try:
        reasons, notes = check.run(question)
        return list(reasons), list(notes)
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise Refused(
            f"cannot check the {check.name} of {question.name}: {why}; "
            "this is a fault of stoker's own, report it"
        ) from error


def _checks(rules: Sequence[Any], waivers: Mapping[str, str] | None) -> Iterator[Check]:
    if flags := part("flags"):
        yield Check("flags", lambda question: (flags.check(question), ()))
    if known := part("rules"):

        def run(question: Question) -> Told:
            verdict = known.check(question, rules, waivers)
            return verdict.reasons, verdict.notes

        yield Check("known-bad rows", run)
    if fitting := part("fitting"):
        yield Check("fit", lambda question: (fitting.check(question), ()))
    if memory := part("memory"):
        yield Check("memory", lambda question: memory.check(question, question.others))
    if weights := part("weights"):
        yield Check("files", lambda question: (weights.check(question), ()))
