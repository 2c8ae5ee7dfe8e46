"""Stoker and the baseline: the same pyinfra, the same deploy, another connector."""

import json
import sys
from pathlib import Path

from stoker.refused import Refused
from stoker.sandbox.state import Container, State

from . import hosts
from .process import finished
from .tools import HERE, ROLE, Done


class Pyinfra:
    """pyinfra's command line with one connector; its files go to `work`."""

    def __init__(self, name: str, connector: str, state: State, work: Path) -> None:
        self.name, self.connector, self.state, self.work = name, connector, state, work

    def run(self, containers: list[Container], deploy: str = "deploy.py", **env: str) -> Done:
        """Run a deploy file of the role with `-y`, as a person does who knows what is coming."""
        tally, listed = self.work / "tally.json", self.work / "hosts.json"
        listed.write_text(json.dumps(hosts.for_pyinfra(self.state, self.connector, containers)))
        result = finished(
            [sys.executable, "-P", HERE / "counted.py", "-y", "--json", "inventory.py", deploy],
            ROLE,
            {
                "PYTHONPATH": str(HERE / "plugin"),
                "BENCH_HOSTS": str(listed),
                "BENCH_TALLY": str(tally),
                **env,
            },
        )
        did = json.loads(result.stdout)["results"]
        if did["failed_hosts"] or did["totals"]["error"]:
            raise Refused(f"cannot measure {self.name}: it failed on {did['failed_hosts']}")
        told = json.loads(tally.read_text())
        changed = did["totals"]["success"]
        return Done(result.seconds, changed, told["commands"], told["connected_to_last_s"])

    def latency_ms(self, container: Container, repeats: int) -> list[float]:
        """Milliseconds of each of so many `true`, the container having been entered before."""
        told = self.work / "latency.json"
        self.run([container], "latency.py", BENCH_LATENCY=str(told), BENCH_REPEATS=str(repeats))
        taken: list[float] = json.loads(told.read_text())
        return taken


def stoker(state: State, work: Path) -> Pyinfra:
    """Stoker's connector."""
    return Pyinfra("Stoker", "pct", state, work)


def pct_exec(state: State, work: Path) -> Pyinfra:
    """One `pct exec` a command."""
    return Pyinfra("pyinfra, pct exec a command", "pct-exec", state, work)
