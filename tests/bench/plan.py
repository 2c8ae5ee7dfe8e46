"""Which measurements a run takes, in which order."""

from dataclasses import dataclass

STOKER, PCT_EXEC, SHIPPED, PATCHED = "stoker", "pct-exec", "shipped", "patched"
CONTAINERS = 8


@dataclass(frozen=True)
class Cell:
    """One measurement: a tool on so many containers."""

    tool: str
    containers: int


# The tools that Stoker is compared with, by the number of containers.
Others = dict[int, tuple[str, ...]]

# A quarter of an hour on two cores.
SHORT: Others = {1: (SHIPPED, PCT_EXEC), 4: (PATCHED,), 8: (PCT_EXEC,)}
# An hour.
FULL: Others = dict.fromkeys((1, 4, 8), (SHIPPED, PATCHED, PCT_EXEC))


def cells(others: Others) -> list[Cell]:
    """Stoker before, between and after the others on as many containers.

    Such machines drift by half in an hour: only neighbours can be compared. Its runs are a hundred
    times shorter than the others', so it takes several of them to see as much of the machine.
    """
    ordered = []
    for count, tools in others.items():
        own = [Cell(STOKER, count)] * (3 if count == 1 else 2)
        ordered += own
        for tool in tools:
            ordered += [Cell(tool, count), *own]
    return ordered
