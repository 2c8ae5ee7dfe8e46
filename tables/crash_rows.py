"""What a row of `stoker/health/crash/data/*.yaml` may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stoker.health.crash.verdict import HEALTHY, PHASES

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


def problems_of_classes(rows: Any) -> Iterator[str]:
    """What is wrong with `crash_classes.yaml`, each with its place and key."""
    if not isinstance(rows, list):
        yield "is no list of rows"
        return
    names = [row.get("name") for row in rows if isinstance(row, dict)]
    for place, row in enumerate(rows, 1):
        said = list(problems_of_keys(row, CLASS_KEYS))
        yield from (f"row {place}: {problem}" for problem in said)
        if said:
            continue
        if not re.fullmatch(r"[a-z][a-z0-9_]{1,40}", row["name"]):
            yield f"row {place}: name: is {row['name']!r}, wants small letters and _"
        for key in ("title", "meaning", "confirm", "action"):
            if not row[key]:
                yield f"row {place}: {key}: is empty"
        if not row["evidence"] and row["name"] != HEALTHY:
            yield f"row {place}: evidence: is empty; say where it is from"
        yield from (
            f"row {place}: phases: {phase!r} is none of PHASES"
            for phase in row["phases"]
            if phase not in PHASES
        )
        yield from (
            f"row {place}: see: there is no class {other!r}"
            for other in row["see"]
            if other not in names
        )
    yield from twice(names, "name")


def problems_of_keys(row: Any, keys: dict[str, tuple[type, bool]]) -> Iterator[str]:
    """Unknown keys, missing ones, and values of another kind."""
    if not isinstance(row, dict):
        yield "is no mapping"
        return
    for key in sorted(map(str, row.keys() - keys.keys())):
        yield f"{key}: unknown key; known: {', '.join(keys)}"
    for key, (kind, optional) in keys.items():
        if key not in row and optional:
            continue
        if type(row.get(key)) is not kind:
            yield f"{key}: is {row.get(key)!r}, wants {kind.__name__}"


def twice(names: list[Any], key: str) -> Iterator[str]:
    """Names that more than one row has."""
    for name in sorted({str(name) for name in names if names.count(name) > 1}):
        yield f"{key}: {name} is there twice"


def problems_of_causes(rows: Any) -> Iterator[str]:
    """What is wrong with `crash_causes.yaml`, each with its place and key."""
    if not isinstance(rows, list):
        yield "is no list of rows"
