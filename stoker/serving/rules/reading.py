"""A row of a known-bad file, read strictly: every problem by its key."""

import datetime
import re
from dataclasses import fields
from typing import Any

from stoker.serving.rules import examples
from stoker.serving.rules.checking import PLACE
from stoker.serving.rules.conditions import condition
from stoker.serving.rules.keys import Problems, known, near
from stoker.serving.rules.rule import Example, Rule
from stoker.serving.rules.subjects import ALONE

_OWED = ("id", "class", "severity", "when", "because", "do", "source", "fires", "silent")
_TEXTS = ("id", "class", "because", "do", "source")
_EXAMPLE = {field.name: field for field in fields(Example)}


def rule(data: Any, place: str, origin: str, problems: Problems) -> Rule | None:
    """The row, or None with what is wrong with it in `problems`."""
    before = len(problems)
    if not isinstance(data, dict):
        problems.append(f"{place}: is no row; a row is keys and values")
        return None
    place = str(data.get("id") or place)
    known(data, (*_OWED, "recheck"), place, problems)
    problems += [f"{place}.{key}: is missing" for key in _OWED if not data.get(key)]
    for key in _TEXTS:
        if data.get(key) and not isinstance(data[key], str):
            problems.append(f"{place}.{key}: is not text; quote it")
    made = _made(data, place, origin, problems)
    return None if len(problems) > before else _examined(made, problems)


def _made(data: dict[str, Any], place: str, origin: str, problems: Problems) -> Rule:
    """The row as far as it can be read; nobody gets it where there are problems."""
    shown = {
        key: _example(data.get(key) or {}, f"{place}.{key}", problems)
        for key in ("fires", "silent")
    }
    _names(data, place, problems)
    texts = {key: " ".join(str(data.get(key)).split()) for key in _TEXTS}
    return Rule(
        id=texts["id"],
        name=texts["class"],
        severity="refuse" if data.get("severity") == "refuse" else "warn",
        when=condition(data.get("when") or {}, f"{place}.when", problems),
        because=texts["because"],
        do=texts["do"],
        source=texts["source"],
        fires=shown["fires"],
        silent=shown["silent"],
        recheck=_recheck(data, place, problems),
        origin=origin,
    )


def _examined(made: Rule, problems: Problems) -> Rule | None:
    found = list(examples.problems(made))
    problems += [f"{made.id}.{problem}" for problem in found]
    return None if found else made


def _names(data: dict[str, Any], place: str, problems: Problems) -> None:
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", str(data.get("id") or "x")):
        problems.append(f"{place}.id: is no name such as trtllm-mla-on-sm120")
    if not re.fullmatch(r"[a-z0-9][a-z0-9_]*", str(data.get("class") or "x")):
        problems.append(f"{place}.class: is no name such as nccl_algo")
    if data.get("severity", "warn") not in ("warn", "refuse"):
        problems.append(f"{place}.severity: is {data['severity']!r}, neither warn nor refuse")
    for key in ("because", "do"):
        for name in PLACE.findall(str(data.get(key))):
            if not (name.isupper() or "." in name or name in (*ALONE, "sglang") or "-" in name):
                problems.append(f"{place}.{key}: {{{name}}} stands for no value")


def _recheck(data: dict[str, Any], place: str, problems: Problems) -> datetime.date | None:
    value = data.get("recheck")
    bounded = isinstance(when := data.get("when"), dict) and "<" in str(when.get("sglang"))
    if value is None and not bounded:
        problems.append(
            f"{place}.recheck: is missing; a row that speaks of versions to come owes the day on"
            " which it is looked at again (or say in when.sglang below which version it holds)"
        )
    elif value is not None and type(value) is not datetime.date:
        problems.append(f"{place}.recheck: is no day such as 2027-06-01")
    return value if type(value) is datetime.date else None


def _example(data: Any, place: str, problems: Problems) -> Example:
    if not isinstance(data, dict):
        problems.append(f"{place}: is no question; see docs/checks.md")
        return Example()
    known(data, tuple(_EXAMPLE), place, problems)
    told: dict[str, Any] = {key: value for key, value in data.items() if key in _EXAMPLE}
    for key, value in told.items():
        if not isinstance(value, str if key == "sglang" else dict):
            problems.append(f"{place}.{key}: is no {'text' if key == 'sglang' else 'mapping'}")
            return Example()
    for key in ("env", "software"):
        told[key] = {name: str(value) for name, value in told.get(key, {}).items()}
    for key in ("gpu", "model", "host"):
        known(told.get(key, {}), near(key), f"{place}.{key}", problems)
    return Example(**told)
