"""A class of crashes in the long words of `stoker explain`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from stoker.health.crash.classes import CrashClass

RUNBOOK = "docs/runbook.md"


def listed(classes: Iterable[CrashClass]) -> list[str]:
    """A line a class: its name, and what it is in a few words."""
    rows = list(classes)
    width = max((len(row.name) for row in rows), default=0)
    return [f"{row.name:{width}}  {row.title}" for row in rows]


def explained(row: CrashClass, width: int = 100) -> list[str]:
    """Lines of at most `width` characters: what it is, how to confirm, what to do, what not."""
    lines = [f"{row.name}: {row.title}", ""]
    for head, text in _parts(row):
        lines += [head, *_wrapped(text, width), ""]
    if row.phases:
        lines.append("By how far the server had come")
        for phase, action in row.by_phase():
            lines += _wrapped(f"{phase}: {action}", width, hanging=4)
        lines.append("")
    lines += ["Evidence", *_wrapped("; ".join(row.evidence), width), ""]
    if row.see:
        lines.append(f"See also: {', '.join(row.see)}")
    return [*lines, f"{RUNBOOK}#{row.name} says the same."]


def _parts(row: CrashClass) -> Iterator[tuple[str, str]]:
    yield "What it is", row.meaning
    yield "How to make sure", row.confirm
    yield "What to do", row.action
    if row.avoid:
        yield "What not to do", row.avoid


def _wrapped(text: str, width: int, hanging: int = 0) -> list[str]:
    """Indented. Commands stay as they are: no word is broken, not even at a hyphen."""
    return textwrap.wrap(
        text,
        width,
        initial_indent="  ",
        subsequent_indent=" " * (2 + hanging),
        break_long_words=False,
        break_on_hyphens=False,
    )
