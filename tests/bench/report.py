"""The table for a person at a terminal, and the same for docs/bench.md."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from .rows import Aim, Row

_COLUMNS = ("tool", "containers", "seconds", "times Stoker's", "commands", "pct starts")


def cells_of(row: Row) -> tuple[str, ...]:
    """The words of one line of the table."""
    run = row.measured
    ratio = "" if row.ratio is None else f"{row.ratio:.1f}"
    figures = (str(run.containers), f"{run.seconds:.1f}", ratio)
    return (run.tool, *figures, str(run.commands), str(run.pct_starts))


def cells_of_aim(aim: Aim) -> tuple[str, ...]:
    """The words of one aim."""
    verdict = {True: "met", False: "missed", None: ""}[aim.met]
    return (aim.what, aim.wanted, aim.found, verdict)


def printed(rows: Iterable[Row], aims: Iterable[Aim], console: Console) -> None:
    """Both tables, on the terminal."""
    seconds = Table(*_COLUMNS, title="the role with nothing to change")
    for row in rows:
        seconds.add_row(*cells_of(row))
    console.print(seconds)
    promised = Table("aim", "wanted", "found", "")
    for aim in aims:
        promised.add_row(*cells_of_aim(aim))
    console.print(promised)


def markdown(rows: Iterable[Row], aims: Iterable[Aim], told: str) -> str:
    """Both tables as docs/bench.md; `told` says where and when they were measured."""
    seconds = _table(_COLUMNS, (cells_of(row) for row in rows))
    promised = _table(("aim", "wanted", "found", ""), (cells_of_aim(aim) for aim in aims))
    return f"{_HEAD}\n{told}\n\n{seconds}\n{promised}"


def _table(head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    ruled = [head, tuple("---" for _ in head), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in ruled)


_HEAD = """\
# The bench

`make bench` writes this page when asked to (`python -m tests.bench --write`); `make bench-full`
takes every tool on every number of containers.

A role of forty operations (2 packages, a group, a user, 6 directories, 7 files, 9 templates, 3
lines, 2 links, 2 marks, 2 virtual environments, 5 services) is written twice with the same effect:
as a pyinfra deploy and as an Ansible playbook. It is applied first, by Ansible to one container and
by Stoker to the others; then every tool runs it where nothing is to be changed, and must report no
change in what the other made. testinfra checks the end state before and after.

Seconds are those of the whole process, from its start to its end; with several runs, the median.
Stoker runs before, between and after the others, since such machines drift. pct's starts were
counted on the node, whose pct is a stand-in that costs the CPU time of a real one.
"""
