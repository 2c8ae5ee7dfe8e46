"""The ladder as a page, drawn from its table."""

from __future__ import annotations

from stoker.health import evidence as sees
from stoker.health.ladder import described
from stoker.health.table import TABLE, Row

HEAD = """# The recovery ladder

Drawn from `stoker/health/table.py` by `python -m stoker.health.drawing`; a test holds it fresh.
The first row whose evidence is seen is taken. A refused rung is told with its reason and the
human's command, and the next row is asked. A row without a step ends the run.

"""
CODES = """
Exit codes: 0 clean or recovered, 2 no such target, 10 held by others, 11 needs the human's word,
12 locked or frozen, 13 incomplete evidence, 20 driver, 30 memory is back and the unit does not
serve, 75 only a reboot of the node is left. `needs the human's word` and `held by others` win over
75: a rung that can still be opened is the next thing to do.
"""


def drawing() -> str:
    """Markdown: a flow chart and the table."""
    return HEAD + chart() + "\n" + table() + CODES


def chart() -> str:
    """Mermaid: the order of the rungs."""
    lines = ["```mermaid", "flowchart TD"]
    for row in TABLE:
        shape = f'["{row.name}: {row.title}"]' if row.step else f'(["{row.name}: {row.title}"])'
        lines.append(f"    {row.name}{shape}")
    for row, after in zip(TABLE, TABLE[1:]):  # noqa: RUF007 - a node's Python may be 3.9
        lines.append(f"    {row.name} --> {after.name}")
    return "\n".join([*lines, "```", ""])


def table() -> str:
    """One row a rung."""
    head = "| rung | seen | step | bound | done when | else | refused when |"
    lines = [head, "|---|---|---|---|---|---|---|", *map(_line, TABLE)]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    refused = "<br>".join(described(refuses) for refuses in row.refuses)
    bound = f"{row.bound_s} s" if row.bound_s else ""
    if row.step == "kill":
        bound += f", {row.times} times"
    verify = "" if row.until is sees.never else described(row.until)
    does = row.does or "the run ends"
    cells = (f"**{row.name}** {row.title}", described(row.evidence), does, bound, verify, row.next)
    return f"| {' | '.join((*cells, refused))} |"


if __name__ == "__main__":
    print(drawing(), end="")
