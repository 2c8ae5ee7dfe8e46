"""The verdict on one question: every check in its order, each reason once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stoker.refused import Refused
from stoker.serving import fitting, flags, memory, rules, weights
from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason, Verdict
from stoker.serving.rules.rule import Rule

Told = tuple[Iterable[Reason], Iterable[str]]
"""Reasons and notes of one check."""


@dataclass(frozen=True)
class Check:
    """One part of the checks, by the name that an error of its own is told under."""

    name: str
    run: Callable[[Question], Told]


def judge(
    question: Question, rows: Sequence[Rule] = (), waivers: Mapping[str, str] | None = None
) -> Verdict:
    """Flags, known-bad rows, fitting, memory, weights: refusals first, else in this order.

    Raises `Refused` if a check fails of itself: what was not checked must not pass.
    """
    reasons: dict[tuple[str, str], Reason] = {}
    notes: dict[str, None] = {}
    for check in _checks(rows, waivers):
        found, said = _run(check, question)
        for reason in found:
            reasons.setdefault((reason.name, reason.message), reason)
        notes.update(dict.fromkeys(said))
    return Verdict(tuple(reasons.values()), tuple(notes))


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


def _checks(rows: Sequence[Rule], waivers: Mapping[str, str] | None) -> Iterator[Check]:
    def known_bad(question: Question) -> Told:
        verdict = rules.check(question, rows, waivers)
        return verdict.reasons, verdict.notes

    yield Check("flags", lambda question: (flags.check(question), ()))
    yield Check("known-bad rows", known_bad)
    yield Check("fit", lambda question: (fitting.check(question), ()))
    yield Check("memory", lambda question: memory.check(question, question.others))
    yield Check("files", lambda question: (weights.check(question), ()))
