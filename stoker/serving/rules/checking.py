"""What the known-bad rows say of a question."""

import datetime
import difflib
import functools
import re
from collections.abc import Iterable, Iterator, Mapping

from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason, Verdict
from stoker.serving.rules import subjects
from stoker.serving.rules.matching import holds
from stoker.serving.rules.rule import Condition, Rule

PLACE = re.compile(r"\{([A-Za-z][\w.-]*)\}")
"""A value's place in a row's words."""


def check(
    question: Question,
    rules: Iterable[Rule],
    waivers: Mapping[str, str] | None = None,
    today: datetime.date | None = None,
) -> Verdict:
    """The rows that fire as reasons; what was waived, and what hangs on an unknown fact, as notes.

    `waivers`: row -> why it does not count here; one that names no row refuses. `today` decides
    whether a row is past its `recheck`: then it warns where it refused.
    """
    rules, waivers = tuple(rules), waivers or {}
    fired, untold = _judged(question, rules)
    day = today or datetime.date.today()
    told = [(rule.id, _reason(rule, question, day)) for rule in fired]
    waived = (
        f"waived {name}: {waivers[name]} (it says: {reason.message})"
        for name, reason in told
        if name in waivers
    )
    counting = (reason for name, reason in told if name not in waivers)
    return Verdict((*_unknown(waivers, rules), *counting), (*waived, *_untold(untold)))


def _judged(
    question: Question, rules: tuple[Rule, ...]
) -> tuple[list[Rule], list[tuple[str, frozenset[str]]]]:
    """The rows that fire, and (row, the subjects that it hangs on) of those that cannot be told."""
    fired, untold = [], []
    ask = functools.partial(subjects.of, question)
    for rule in rules:
        truth, hangs_on = holds(rule.when, ask, question.sglang)
        if truth:
            fired.append(rule)
        elif truth is None and _worth_telling(rule, hangs_on, question):
            untold.append((rule.id, hangs_on))
    return fired, untold


def _worth_telling(rule: Rule, hangs_on: frozenset[str], question: Question) -> bool:
    """Only where the flag set itself says something that the row is about, and the model was looked
    at if the row hangs on it: else every server of which little is known would have many."""
    looked_at = all(name.startswith(subjects.MAY_BE_UNKNOWN) for name in hangs_on)
    unread = question.model is None and any(not name.startswith("gpu.") for name in hangs_on)
    given = any(subjects.of(question, name).given for name in _names(rule.when))
    return looked_at and given and not unread


def _names(when: Condition) -> Iterator[str]:
    yield from (name for name, _ in when.matches)
    for branch in when.any:
        yield from _names(branch)


def _reason(rule: Rule, question: Question, today: datetime.date) -> Reason:
    expired = rule.recheck is not None and today >= rule.recheck
    message, hint = _filled(rule.because, question), _filled(rule.do, question)
    if expired:
        message += f" (known-bad row {rule.id} wants a re-check since {rule.recheck})"
    severity = "warn" if expired else rule.severity
    return Reason(rule.name, severity, message, hint, rule=rule.id)


def _filled(words: str, question: Question) -> str:
    return PLACE.sub(lambda found: _said(found[1], question), words)


def _said(name: str, question: Question) -> str:
    if name == "sglang":
        return question.sglang
    if name.isupper():
        return question.env.get(name, "unset")
    known = "." in name or name in subjects.ALONE
    value = subjects.of(question, name if known else f"flags.{name}").value
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    return "unset" if value is None else str(value)


def _untold(rows: list[tuple[str, frozenset[str]]]) -> Iterator[str]:
    if rows:
        facts = sorted({name.replace(".", " ") for _, hangs_on in rows for name in hangs_on})
        names = ", ".join(name for name, _ in rows)
        yield f"cannot tell whether {names} apply: {' and '.join(facts)} not known"


def _unknown(waivers: Mapping[str, str], rules: tuple[Rule, ...]) -> Iterator[Reason]:
    known = sorted(rule.id for rule in rules)
    for name in sorted(set(waivers) - set(known)):
        near = difflib.get_close_matches(name, known, n=1)
        yield Reason(
            "waiver_unknown",
            "refuse",
            f"waivers.{name}: there is no such known-bad row",
            f"meant {near[0]}?"
            if near
            else "remove the waiver; a refusal or a warning names its row",
        )
