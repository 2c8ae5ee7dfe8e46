"""Whether a condition holds for a question: yes, no, or nobody can tell."""

import re
from collections.abc import Callable
from typing import Any

from stoker.serving.rules import algorithms
from stoker.serving.rules.rule import Condition, Match
from stoker.serving.rules.subjects import Subject
from stoker.serving.versions import within

Ask = Callable[[str], Subject]
_WORDS = {
    **dict.fromkeys(("1", "true", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "no", "n", "off", ""), False),
}


def holds(condition: Condition, ask: Ask, sglang: str) -> tuple[bool | None, frozenset[str]]:
    """(it holds, {}), (it does not, {}), or (None, the subjects that it hangs on)."""
    if not within(sglang, condition.sglang):
        return False, frozenset()
    found = [(_asked(match, ask(subject)), subject) for subject, match in condition.matches]
    if any(truth is False for truth, _ in found):
        return False, frozenset()
    unknown = frozenset(subject for truth, subject in found if truth is None)
    if condition.any:
        truth, more = _one_of(condition.any, ask, sglang)
        if truth is False:
            return False, frozenset()
        unknown |= more
    return (None, unknown) if unknown else (True, frozenset())


def _one_of(
    conditions: tuple[Condition, ...], ask: Ask, sglang: str
) -> tuple[bool | None, frozenset[str]]:
    found = [holds(condition, ask, sglang) for condition in conditions]
    if any(truth for truth, _ in found):
        return True, frozenset()
    unknown = frozenset[str]().union(*(more for truth, more in found if truth is None))
    return (None, unknown) if unknown else (False, frozenset())


def _asked(match: Match, subject: Subject) -> bool | None:
    if not subject.known:
        return None
    value = subject.value
    values = tuple(value) if isinstance(value, tuple | list) else (value,)
    values = tuple(one for one in values if one is not None)
    return all(
        (
            match.among is None or _equal(values, match.among),
            match.none_of is None or not values or not _equal(values, match.none_of),
            match.given is None or subject.given is match.given,
            match.set is None or bool(values) is match.set,
            not match.matches or any(re.search(match.matches, str(v), re.I) for v in values),
            _bounded(values, match),
            match.algorithms is None or any(_left(str(v), match) for v in values),
        )
    )


def _equal(values: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    if not values:
        return any(want is False for want in wanted)
    return any(_same(want, value) for want in wanted for value in values)


def _same(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, bool):
        known = value if isinstance(value, bool) else _WORDS.get(str(value).strip().casefold())
        return known is wanted
    mine, other = _number(wanted), _number(value)
    if mine is not None and other is not None:
        return mine == other
    return str(wanted).casefold() == str(value).strip().casefold()


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


def _bounded(values: tuple[Any, ...], match: Match) -> bool:
    if match.over is match.under is match.at_least is match.at_most is None:
        return True
    numbers = [number for value in values if (number := _number(value)) is not None]
    return any(
        (match.over is None or number > match.over)
        and (match.under is None or number < match.under)
        and (match.at_least is None or number >= match.at_least)
        and (match.at_most is None or number <= match.at_most)
        for number in numbers
    )


def _left(text: str, match: Match) -> bool:
    assert match.algorithms
    left = algorithms.left_to(match.algorithms.collective, text)
    if left is None or not match.algorithms.collective:
        return left is None and not match.algorithms.collective
    some = match.algorithms.some
    return left <= match.algorithms.only and (not some or bool(left & some))
