"""What a run costs that finds nothing to do, with the containers declared and without."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from stoker.facts import proxmox_node
from stoker.refused import Refused

from .eight import Eight, Run
from .report import Measurements
from .rows import Aim, told, under

DECLARED = "node, containers, driver, servers"
PLAIN = "the same without the data `container`"
BEFORE = "the servers alone"
ROUNDS = 4
"""Every other one in the opposite order: a machine that slows down favours neither end."""
_ADDS_S = 1.0
_LOOK_MS = 30.0
_WAYS = {DECLARED: ("deploy.py", True), PLAIN: ("deploy.py", False), BEFORE: ("before.py", False)}
_COST = """
import resource, subprocess, sys
for _ in range(20):
    subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print((used.ru_utime + used.ru_stime) / 20 * 1000)
"""


@dataclass(frozen=True)
class Unchanged:
    """Runs of each way, round by round; and what one look at the node costs it."""

    rounds: list[dict[str, Run]]
    look_ms: float

    @property
    def table(self) -> Measurements:
        head = (
            *("looked after", "seconds", "each round"),
            *("processor seconds of the controller", "of node and containers", "commands"),
        )
        return Measurements(head, [self._line(name) for name in _WAYS])

    @property
    def aims(self) -> list[Aim]:
        """The difference within a round, the median of all rounds."""
        adds = self._difference(BEFORE)
        what = "node, containers and driver add to such a run"
        return [
            Aim(what, f"<= {_ADDS_S:g} s", f"{adds:.2f} s", adds <= _ADDS_S),
            told("of that the data `container`", self._difference(PLAIN), "s"),
            under("a look at the node, of its processor time", _LOOK_MS, self.look_ms, "ms"),
        ]

    def _difference(self, without: str) -> float:
        found = (one[DECLARED].seconds - one[without].seconds for one in self.rounds)
        return statistics.median(found)

    def _line(self, name: str) -> tuple[str, ...]:
        runs = [one[name] for one in self.rounds]
        middle = statistics.median
        return (
            name,
            f"{middle(run.seconds for run in runs):.1f}",
            ", ".join(f"{run.seconds:.1f}" for run in runs),
            f"{middle(run.own_s for run in runs):.2f}",
            f"{middle(run.processor_s for run in runs):.2f}",
            str(runs[0].commands),
        )


def measured(eight: Eight, say: Callable[[str], None]) -> Unchanged:
    """All ways in turn, several times; the containers serve already."""
    rounds = []
    for number in range(ROUNDS):
        order = list(_WAYS) if number % 2 == 0 else list(reversed(_WAYS))
        taken = {name: _run(eight, *_WAYS[name]) for name in order}
        rounds.append(taken)
        say(f"    {', '.join(f'{taken[name].seconds:.1f} s' for name in _WAYS)}")
    cost = float(eight.on_node("python3", "-c", _COST, *proxmox_node.COMMAND))
    return Unchanged(rounds, cost)


def _run(eight: Eight, file: str, declared: bool) -> Run:
    run = eight.deploy(file, declared)
    if run.changed or run.pct_starts:
        raise Refused(
            f"cannot measure {file}: it changed {run.changed} things and started pct "
            f"{run.pct_starts} times where nothing was to be done"
        )
    return run
