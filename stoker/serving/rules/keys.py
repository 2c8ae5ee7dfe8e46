"""The keys that a known-bad file may have."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from stoker.serving.rules.subjects import GPU, HOST, MODEL

Problems = list[str]
"""Sentences, each beginning with the key."""
_SECTIONS = {"gpu": GPU, "host": HOST, "model": MODEL}


def near(section: str) -> tuple[str, ...]:
    """What a section may name; empty: anything."""
    return tuple(sorted(_SECTIONS.get(section, ())))


def known(data: Mapping[Any, Any], allowed: Iterable[str], place: str, problems: Problems) -> None:
    """Adds a problem for each key that is not allowed, with the nearest that is."""
    allowed = tuple(allowed)
    for key in data:
        if key not in allowed:
            close = difflib.get_close_matches(str(key), allowed, n=1)
            hint = f"meant {close[0]}?" if close else f"known: {', '.join(allowed)}"
            problems.append(f"{place}.{key}: unknown key; {hint}")
