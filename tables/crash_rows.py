"""What a row of `stoker/health/crash/data/*.yaml` may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stoker.health.crash import versions
from stoker.health.crash.rule import ROLES, VOICES
from stoker.health.crash.rules import KEY, literal
from stoker.health.crash.verdict import CONFIDENCES, HEALTHY, PHASES

# Key -> its kind, and whether it may be left out.
CLASS_KEYS: dict[str, tuple[type, bool]] = {
    "name": (str, False),
    "title": (str, False),
    "meaning": (str, False),
    "confirm": (str, False),
    "action": (str, False),
    "avoid": (str, False),
    "phases": (dict, False),
    "evidence": (list, False),
    "see": (list, False),
}
CAUSE_KEYS: dict[str, tuple[type, bool]] = {
    "id": (str, False),
    "class": (str, False),
    "sglang": (str, False),
    "in": (str, False),
    "role": (str, True),
    "leads": (bool, True),
    "names": (list, True),
    "pattern": (str, True),
    "detail": (str, True),
    "frame": (str, True),
    "raised_in": (str, True),
    "source_line": (str, True),
    "phases": (list, True),
    "phase": (str, True),
    "usual": (str, True),
    "cause": (str, False),
    "action": (str, True),
    "confidence": (str, True),
    "source": (str, False),
    "excerpt": (str, False),
    "not": (str, True),
}
PATTERNS = ("pattern", "detail", "frame", "raised_in", "source_line")
_EXCEPTIONS_ONLY = ("names", "detail", "frame", "raised_in", "source_line", "phases")


def problems_of_classes(rows: Any) -> Iterator[str]:
    """What is wrong with `crash_classes.yaml`, each with its place and key."""
    if not isinstance(rows, list):
        yield "is no list of rows"
        return
    names = [row.get("name") for row in rows if isinstance(row, dict)]
    for place, row in enumerate(rows, 1):
        said = list(_keys(row, CLASS_KEYS)) or list(_class(row, names))
        yield from (f"row {place}: {problem}" for problem in said)
    yield from _twice(names, "name")


def problems_of_causes(rows: Any) -> Iterator[str]:
    """What is wrong with `crash_causes.yaml`, each with its place and key."""
    if not isinstance(rows, list):
        yield "is no list of rows"
        return
    for place, row in enumerate(rows, 1):
        said = list(_keys(row, CAUSE_KEYS)) or list(_cause(row))
        yield from (f"row {place}: {problem}" for problem in said)
    yield from _twice([row.get("id") for row in rows if isinstance(row, dict)], "id")


def _class(row: dict[str, Any], names: list[Any]) -> Iterator[str]:
    if not re.fullmatch(r"[a-z][a-z0-9_]{1,40}", row["name"]):
        yield f"name: is {row['name']!r}, wants small letters and _"
    for key in ("title", "meaning", "confirm", "action"):
        if not row[key]:
            yield f"{key}: is empty"
    if not row["evidence"] and row["name"] != HEALTHY:
        yield "evidence: is empty; say where it is from"
    for phase in row["phases"]:
        if phase not in PHASES:
            yield f"phases: is {phase!r}, wants one of {', '.join(PHASES)}"
    for other in row["see"]:
        if other not in names:
            yield f"see: there is no class {other!r}"


def _cause(row: dict[str, Any]) -> Iterator[str]:
    choices = {"in": VOICES, "role": ROLES, "confidence": CONFIDENCES}
    choices |= {"phase": PHASES, "usual": PHASES}
    for key, known in choices.items():
        if key in row and row[key] not in known:
            yield f"{key}: is {row[key]!r}, wants one of {', '.join(known)}"
    for key in ("source", "excerpt", "cause"):
        if not row[key].strip():
            yield f"{key}: is empty"
    try:
        versions.bounds(row["sglang"])
    except ValueError as error:
        yield f"sglang: {error}, and is not {versions.ANY}"
    for key in PATTERNS:
        yield from _pattern(key, row.get(key, "x"))
    if row["in"] != "exception":
        yield from (f"{key}: is for exceptions only" for key in _EXCEPTIONS_ONLY if key in row)
        if "pattern" not in row:
            yield "pattern: is missing"
    elif not any(key in row for key in (*PATTERNS, "names")):
        yield "pattern: is missing, and nothing else tells the exception"
    if row["in"] == "message" and len(literal(row.get("pattern", ""))) < KEY:
        yield f"pattern: wants {KEY} literal letters at its beginning, by which it is found"


def _pattern(key: str, pattern: str) -> Iterator[str]:
    """A pattern that is none, or that can take very long."""
    try:
        re.compile(pattern)
    except re.error as error:
        yield f"{key}: is no pattern: {error}"
    bare = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "x", pattern)
    if re.search(r"[*+](?!\?\))", bare):
        yield f"{key}: holds * or +; write how many at most, as {{1,80}}"


def _keys(row: Any, keys: dict[str, tuple[type, bool]]) -> Iterator[str]:
    """Unknown keys, missing ones, and values of another kind."""
    if not isinstance(row, dict):
        yield "is no mapping"
        return
    for key in sorted(map(str, row.keys() - keys.keys())):
        yield f"{key}: unknown key; known: {', '.join(keys)}"
    for key, (kind, optional) in keys.items():
        if (key in row or not optional) and type(row.get(key)) is not kind:
            yield f"{key}: is {row.get(key)!r}, wants {kind.__name__}"


def _twice(names: list[Any], key: str) -> Iterator[str]:
    for name in sorted({str(name) for name in names if names.count(name) > 1}):
        yield f"{key}: {name} is there twice"
