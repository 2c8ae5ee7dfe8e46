"""The bench's parts as tables: for a person at a terminal, and for docs/bench.md."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from .rows import Aim, Row

_AIMS = ("aim", "wanted", "found", "")


@dataclass(frozen=True)
class Measurements:
    """One table."""

    head: tuple[str, ...]
    lines: list[tuple[str, ...]]


@dataclass(frozen=True)
class Part:
    """What was measured together, on one sandbox."""

    title: str
    about: str
    """How it was measured, in paragraphs."""
    told: str
    """Where and when."""
    tables: tuple[Measurements, ...]


def of_rows(rows: Iterable[Row]) -> Measurements:
    """Tools on numbers of containers."""
    head = ("tool", "containers", "seconds", "times Stoker's", "commands", "pct starts")
    return Measurements(head, [cells_of(row) for row in rows])


def of_ways(lines: list[tuple[str, ...]]) -> Measurements:
    """Ways to the same end; without a column that none of them fills."""
    head = ("way", "seconds", "processor seconds", "times Stoker's", "what came of it")
    kept = [n for n in range(len(head)) if any(line[n] for line in lines)]
    return Measurements(
        tuple(head[n] for n in kept), [tuple(line[n] for n in kept) for line in lines]
    )


def of_aims(aims: Iterable[Aim]) -> Measurements:
    """What was promised, and what came of it."""
    return Measurements(_AIMS, [cells_of_aim(aim) for aim in aims])


def cells_of(row: Row) -> tuple[str, ...]:
    """The words of one line of the table of tools."""
    run = row.measured
    ratio = "" if row.ratio is None else f"{row.ratio:.1f}"
    figures = (str(run.containers), f"{run.seconds:.1f}", ratio)
    return (run.tool, *figures, str(run.commands), str(run.pct_starts))


def cells_of_aim(aim: Aim) -> tuple[str, ...]:
    """The words of one aim."""
    verdict = {True: "met", False: "missed", None: ""}[aim.met]
    return (aim.what, aim.wanted, aim.found, verdict)


def printed(part: Part, console: Console) -> None:
    """Its tables, on the terminal."""
    for number, table in enumerate(part.tables):
        shown = Table(*table.head, title=part.title if number == 0 else None)
        for line in table.lines:
            shown.add_row(*line)
        console.print(shown)


def markdown(part: Part) -> str:
    """It as a part of the page, from its heading on."""
    tables = "\n".join(_table(table) for table in part.tables)
    return f"## {part.title}\n\n{part.about}\n{part.told}\n\n{tables}"


def kept(page: str, parts: Iterable[Part]) -> str:
    """The page with these parts in place of those of their titles; others stay as they were."""
    _, *there = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    by_title = {part.partition("\n")[0]: part for part in there}
    by_title |= {f"## {part.title}": markdown(part) for part in parts}
    return "\n\n".join(part.strip() for part in (_HEAD, *by_title.values())) + "\n"


def _table(table: Measurements) -> str:
    ruled = [table.head, tuple("---" for _ in table.head), *table.lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in ruled)


_HEAD = """\
# The bench

`make bench` measures all of it; `make bench-containers` (six minutes), `make bench-recovery`
(three minutes), `make bench-rollback` (a minute and a half), `make bench-crash` (a minute) and
`make bench-check` (ten seconds) one part each; `make bench-full` takes every tool of the first part
on every number of containers. `python -m tests.bench --write` writes this page.
"""
