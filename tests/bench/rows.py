"""The arithmetic of the table: what each measurement is to Stoker's own, and which aims are met."""

from collections.abc import Iterable
from dataclasses import dataclass

STOKER = "Stoker"


@dataclass(frozen=True)
class Measured:
    """One tool on so many containers, with nothing to change.

    `seconds` is the whole process, from its start to its end. `commands` is what was sent to all
    containers together. `pct_starts` was counted on the node.
    """

    tool: str
    containers: int
    seconds: float
    commands: int
    pct_starts: int


@dataclass(frozen=True)
class Row:
    """A measurement beside Stoker's on as many containers; `ratio` is None where there is none."""

    measured: Measured
    ratio: float | None


@dataclass(frozen=True)
class Aim:
    """What was promised, what came of it; `met` is None where this run did not measure it."""

    what: str
    wanted: str
    found: str
    met: bool | None


def medians(runs: Iterable[Measured]) -> list[Measured]:
    """Of each tool and number of containers the run with the median time, the slower of two."""
    cells: dict[tuple[str, int], list[Measured]] = {}
    for run in runs:
        cells.setdefault((run.tool, run.containers), []).append(run)
    ordered = [sorted(cell, key=lambda run: run.seconds) for cell in cells.values()]
    return [cell[len(cell) // 2] for cell in ordered]


def compared(measured: Iterable[Measured]) -> list[Row]:
    """Each measurement with how many times Stoker's seconds it took, Stoker's own rows first."""
    taken = list(measured)
    own = {run.containers: run.seconds for run in taken if run.tool == STOKER}
    rows = [
        Row(run, run.seconds / own[run.containers] if run.containers in own else None)
        for run in taken
    ]
    return sorted(rows, key=lambda row: (row.measured.tool != STOKER, order(taken, row.measured)))


def order(taken: list[Measured], run: Measured) -> tuple[int, int]:
    """Tools in the order of their first measurement, each from few containers to many."""
    return [other.tool for other in taken].index(run.tool), run.containers


def at_least(what: str, wanted: float, rows: list[Row], tool: str, containers: int) -> Aim:
    """Whether a tool took that many times Stoker's seconds."""
    found = [
        row.ratio
        for row in rows
        if (row.measured.tool, row.measured.containers) == (tool, containers)
    ]
    if not found or found[0] is None:
        return Aim(what, f">= {wanted:g}x", "not measured", None)
    return Aim(what, f">= {wanted:g}x", f"{found[0]:.0f}x", found[0] >= wanted)


def under(what: str, wanted: float, found: float | None, unit: str) -> Aim:
    """Whether a figure stays below its limit."""
    if found is None:
        return Aim(what, f"< {wanted:g} {unit}", "not measured", None)
    return Aim(what, f"< {wanted:g} {unit}", f"{found:.2f} {unit}", found < wanted)
