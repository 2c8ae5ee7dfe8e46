"""Stand-in: the boxed table that pvesh prints where no other format is asked for."""

from __future__ import annotations

import json
from typing import Any, List


def render(answer: Any) -> str:
    """A list as one row an entry, an object as one row a key, a plain value as itself."""
    if isinstance(answer, dict):
        return _box([["key", "value"]] + [[name, _cell(answer[name])] for name in sorted(answer)])
    if isinstance(answer, list) and answer and isinstance(answer[0], dict):
        names = sorted({name for entry in answer for name in entry})
        return _box([names] + [[_cell(entry.get(name, "")) for name in names] for entry in answer])
    return _cell(answer)


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _box(rows: List[List[str]]) -> str:
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]

    def line(left: str, fill: str, middle: str, right: str) -> str:
        return left + middle.join(fill * (width + 2) for width in widths) + right

    def padded(row: List[str]) -> str:
        return " │ ".join(f"{cell:<{widths[n]}}" for n, cell in enumerate(row))

    shown = [f"│ {padded(row)} │" for row in rows]
    body = ("\n" + line("├", "─", "┼", "┤") + "\n").join(shown[1:])
    head = [line("┌", "─", "┬", "┐"), shown[0], line("╞", "═", "╪", "╡")]
    return "\n".join([*head, *([body] if body else []), line("└", "─", "┴", "┘")])
