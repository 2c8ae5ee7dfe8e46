"""A bare sandbox whose planned containers the bench makes, looks at and removes again."""

import json
import resource
import shutil
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from stoker.refused import Refused
from stoker.sandbox.node.startup_cost import SETTING as COST
from stoker.sandbox.state import State

from . import node, rolled_back
from .process import finished
from .tools import HERE

ROOT = HERE.parents[1]
DEPLOYS = HERE / "containers"
_REMOVE = """
mkdir -p "$(dirname "$1")"; echo 0 >"$1"; cost=$1; shift
for vmid; do pct stop "$vmid"; pct destroy "$vmid"; done >/dev/null
rm "$cost"
"""


@dataclass(frozen=True)
class Run:
    """One run of pyinfra, or of a script. Of `processor_s` all that the node and its containers
    used, of `own_s` the controller."""

    seconds: float
    own_s: float
    processor_s: float
    pct_starts: int
    changed: int
    commands: int


@dataclass(frozen=True)
class Eight:
    """The sandbox, and a site that declares its containers with a small server in each."""

    state: State
    site: Path
    archive: Path
    """Of the small server."""

    @property
    def vmids(self) -> list[int]:
        return sorted(container.vmid for container in self.state.containers)

    def deploy(self, file: str, declared: bool = True, limit: str = "") -> Run:
        """One of `containers/`; without the data `container` where that is not declared."""
        words: list[str | Path] = [sys.executable, "-P", HERE / "counted.py", "-y", "--json"]
        words += ["--data", "candidate=yes", *(["--limit", limit] if limit else [])]
        tally = self.site / "tally.json"
        environment = {
            "BENCH_SANDBOX": self.state.name,
            "BENCH_SERVER": str(self.archive),
            "BENCH_DECLARED": "yes" if declared else "no",
            "BENCH_TALLY": str(tally),
        }
        words += [DEPLOYS / "inventory.py", DEPLOYS / file]
        starts, used = self.counts()
        own = _children_s()
        done = finished(words, self.site, environment)
        own_s = _children_s() - own
        starts_after, used_after = self.counts()
        did = json.loads(done.stdout)["results"]
        if did["failed_hosts"] or did["totals"]["error"]:
            raise Refused(f"cannot measure {file}: it failed on {did['failed_hosts']}")
        return Run(
            done.seconds,
            own_s,
            used_after - used,
            starts_after - starts,
            did["totals"]["success"],
            json.loads(tally.read_text())["commands"],
        )

    def on_node(self, *words: str) -> str:
        """Standard output of a command on the node."""
        return node.on_node(self.state, self.state.nodes[0], *words)

    def configurations(self) -> dict[int, str]:
        """Text of each container's configuration file."""
        return {vmid: self.on_node("cat", f"/etc/pve/lxc/{vmid}.conf") for vmid in self.vmids}

    def remove(self) -> None:
        """The containers are gone; that is not measured, so pct costs nothing meanwhile."""
        self.on_node("sh", "-ec", _REMOVE, "sh", COST, *map(str, self.vmids))

    def counts(self) -> tuple[int, float]:
        """Starts of pct, and seconds of processor time of the node with all in it."""
        told = self.on_node("cat", "/sys/fs/cgroup/cpu.stat").split()
        used = int(told[told.index("usage_usec") + 1]) / 1e6
        return node.pct_starts(self.state), used


def _children_s() -> float:
    """Seconds of processor time of all that we started and that ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def prepared(state: State, work: Path) -> Eight:
    """Nothing is made yet; pct costs what a real one does, and its starts are counted."""
    site, archive = work / "site", work / "server.tar"
    work.mkdir()
    for name in ("group_data", "locks", "templates"):
        shutil.copytree(ROOT / name, site / name)
    flagset = rolled_back.flag_set(STANDIN_LOAD_S="0.5", STANDIN_TOKENS_PER_S="3000")
    (site / "group_data/flagsets/bench.yaml").write_text(yaml.safe_dump(flagset))
    with tarfile.open(archive, "w") as tar:
        for source in sorted((ROOT / "tests/standin/sglang").glob("*.py")):
            tar.add(source, f"sglang/{source.name}")
    node.count_pct_starts(state)
    node.pct_cost_s(state)
    return Eight(state, site, archive)
