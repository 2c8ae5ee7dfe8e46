"""Several ways to the same end beside each other, and what was promised of ours."""

from collections.abc import Iterable
from dataclasses import dataclass

from .rows import Aim


@dataclass(frozen=True)
class Way:
    """One way, measured once."""

    name: str
    seconds: float
    """On the clock, from its start to its end."""
    processor_s: float | None = None
    """Of processor time, which others on the machine do not change; None: not measured."""
    said: str = ""
    """What came of it, where that differs."""

    @property
    def cost(self) -> float:
        """What ratios are taken of: processor time where it was measured."""
        return self.seconds if self.processor_s is None else self.processor_s


def medians(measured: Iterable[Way]) -> list[Way]:
    """Of each way the run with the median cost, the dearer of two; in the order they began."""
    return [of[len(of) // 2] for of in _runs(measured)]


def cheapest(measured: Iterable[Way]) -> list[Way]:
    """Of each way its cheapest run; in the order they began."""
    return [of[0] for of in _runs(measured)]


def _runs(measured: Iterable[Way]) -> list[list[Way]]:
    runs: dict[str, list[Way]] = {}
    for way in measured:
        runs.setdefault(way.name, []).append(way)
    return [sorted(of, key=lambda way: way.cost) for of in runs.values()]


def cells(ways: list[Way], ours: str) -> list[tuple[str, ...]]:
    """A line of the table for each, with how many times ours it costs."""
    own = next(way.cost for way in ways if way.name == ours)
    return [
        (
            way.name,
            f"{way.seconds:.2f}",
            "" if way.processor_s is None else f"{way.processor_s:.2f}",
            f"{way.cost / own:.1f}",
            way.said,
        )
        for way in ways
    ]


def above(what: str, wanted: float, ours: Way, floor: Way) -> Aim:
    """Whether ours takes at most so many seconds more than what nobody can spare."""
    more = ours.seconds - floor.seconds
    return Aim(what, f"<= {wanted:g} s", f"{more:.1f} s", more <= wanted)
