"""The `when` of a row, read strictly."""

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from packaging.specifiers import InvalidSpecifier

from stoker.serving.rules.algorithms import ALL
from stoker.serving.rules.keys import Problems, known, near
from stoker.serving.rules.rule import Algorithms, Condition, Match
from stoker.serving.rules.subjects import ALONE
from stoker.serving.versions import specifiers

_SECTIONS = ("flags", "env", "gpu", "model", "host", "software")
_MATCH = tuple(field.name for field in fields(Match))
_LISTS, _NUMBERS = ("among", "none_of"), ("over", "under", "at_least", "at_most")


def condition(data: Any, place: str, problems: Problems) -> Condition:
    """The condition; what is wrong with it goes to `problems`."""
    if not isinstance(data, dict):
        problems.append(f"{place}: holds no conditions; see docs/checks.md")
        return Condition()
    known(data, ("sglang", "any", *ALONE, *_SECTIONS), place, problems)
    branches = data.get("any", [])
    if not isinstance(branches, list):
        problems.append(f"{place}.any: is no list of conditions")
        branches = []
    return Condition(
        sglang=_versions(data.get("sglang", ""), f"{place}.sglang", problems),
        matches=tuple(_matches(data, place, problems)),
        any=tuple(condition(one, f"{place}.any", problems) for one in branches),
    )


def _versions(text: Any, place: str, problems: Problems) -> str:
    try:
        specifiers(text if isinstance(text, str) else str(text))
    except InvalidSpecifier:
        problems.append(f"{place}: {text!r} is no range such as >=0.5.12,<0.5.17")
        return ""
    return str(text)


def _matches(data: dict[str, Any], place: str, problems: Problems) -> Iterator[tuple[str, Match]]:
    for name in ALONE:
        if name in data:
            yield name, _match(data[name], f"{place}.{name}", problems)
    for section in _SECTIONS:
        asked = data.get(section, {})
        if not isinstance(asked, dict):
            problems.append(f"{place}.{section}: is no mapping of names to what is asked of them")
            continue
        if allowed := near(section):
            known(asked, allowed, f"{place}.{section}", problems)
        for name, value in asked.items():
            yield f"{section}.{name}", _match(value, f"{place}.{section}.{name}", problems)


def _match(data: Any, place: str, problems: Problems) -> Match:
    if not isinstance(data, dict):
        return Match(among=tuple(data) if isinstance(data, list) else (data,))
    known(data, _MATCH, place, problems)
    told = {key: value for key, value in data.items() if key in _MATCH}
    for key in _LISTS:
        if key in told:
            told[key] = tuple(told[key]) if isinstance(told[key], list) else (told[key],)
    for key in _NUMBERS:
        if type(told.get(key, 0)) not in (int, float):
            problems.append(f"{place}.{key}: {told[key]!r} is no number")
    for key in ("given", "set"):
        if type(told.get(key, True)) is not bool:
            problems.append(f"{place}.{key}: is neither true nor false")
    if "algorithms" in told:
        told["algorithms"] = _algorithms(told["algorithms"], f"{place}.algorithms", problems)
    _expression(told.get("matches", ""), f"{place}.matches", problems)
    return Match(**told)


def _expression(text: Any, place: str, problems: Problems) -> None:
    try:
        re.compile(text)
    except (re.error, TypeError) as error:
        problems.append(f"{place}: is no regular expression: {error}")


def _algorithms(data: Any, place: str, problems: Problems) -> Algorithms | None:
    if data == "unread":
        return Algorithms()
    if not isinstance(data, dict) or "collective" not in data:
        problems.append(f"{place}: names no collective, nor is it `unread`; see docs/checks.md")
        return None
    known(data, ("collective", "only", "some"), place, problems)
    only, some = (frozenset(map(str, data.get(key, ()))) for key in ("only", "some"))
    for name in sorted((only | some) - ALL):
        problems.append(f"{place}: {name} is no algorithm of NCCL; known: {', '.join(sorted(ALL))}")
    return Algorithms(str(data["collective"]), only, some)
