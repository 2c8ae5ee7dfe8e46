"""The part of the runbook that `make tables` makes of the classes.

Every class has a heading of its name, which GitHub makes its anchor: docs/runbook.md#gpu_oom.
"""

from __future__ import annotations

from collections.abc import Iterable

from stoker.health.crash.classes import CrashClass, known

BEGIN = (
    "<!-- made by `make tables` from stoker/health/crash/data; the rows are edited, not this -->"
)
END = "<!-- the end of what is made -->"


def part() -> str:
    """Markdown between the markers: the list of the classes, then one section each."""
    rows = list(known().values())
    lines = ["| class | what it is |", "|---|---|"]
    lines += [f"| [`{row.name}`](#{row.name}) | {_cell(row.title)} |" for row in rows]
    return "\n".join([*lines, "", *(line for row in rows for line in section(row))])


def section(row: CrashClass) -> Iterable[str]:
    """One class."""
    yield from (f"### {row.name}", "", f"**{row.title}.** {row.meaning}", "")
    yield f"* Make sure: {row.confirm}"
    yield f"* Do: {row.action}"
    yield from (f"* Do, at `{phase}`: {action}" for phase, action in row.by_phase())
    if row.avoid:
        yield f"* Not: {row.avoid}"
    if row.see:
        yield f"* See also: {', '.join(f'[`{name}`](#{name})' for name in row.see)}"
    yield from (f"* From: {'; '.join(row.evidence)}", "")


def renewed(page: str) -> str:
    """The page with its part made anew; ValueError: it has no two markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no part between {BEGIN!r} and {END!r}; put them back")
    return f"{before}{BEGIN}\n\n{part()}{END}{after}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
