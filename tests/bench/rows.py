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


def at_least(what: str, wanted: float, rows: list[Row], containers: int) -> Aim:
    """Whether the tool that `what` begins with took that many times Stoker's seconds."""
    ratios = [
        row.ratio
        for row in rows
        if what.startswith(row.measured.tool) and row.measured.containers == containers
    ]
    if not ratios or ratios[0] is None:
        return Aim(what, f">= {wanted:g}x", "not measured", None)
    return Aim(what, f">= {wanted:g}x", f"{ratios[0]:.0f}x", ratios[0] >= wanted)


def under(what: str, wanted: float, found: float, unit: str) -> Aim:
    """Whether a figure stays below its limit."""
    return Aim(
        what, f"< {wanted:g} {unit}".rstrip(), f"{found:.3g} {unit}".rstrip(), found < wanted
    )


def told(what: str, found: float, unit: str) -> Aim:
    """A figure to compare with, of which nothing was promised."""
    return Aim(what, "", f"{found:.3g} {unit}", None)
