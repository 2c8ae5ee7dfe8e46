"""From eight GPUs held by orphans to a server that serves: Stoker beside what one does by hand."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stoker.recovery import bundle
from stoker.refused import Refused
from stoker.sandbox import gpu, lxc_node, stuck
from stoker.sandbox.state import State
from stoker.sandbox.stuck import container, started
from stoker.sandbox.stuck.container import Target

from . import node, ways, with_pyinfra
from .rows import Aim
from .server import UNIT, Server
from .ways import Way

OURS = "stoker.pyz recover"
FLOOR = "by hand, each process known: kill -9, wait, start the unit"
RESTART = "by hand: pct stop, wait, pct start"
GPUS = 8
_ABOVE_S = 10.0
_PYZ = "/root/stoker.pyz"
RELEASE_S = 3
"""How long the stand-in GPUs keep memory after its last holder's end, as real ones do."""
# $1: MiB that are no longer held; waits until every GPU uses less.
_BACK = """
until nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits |
    awk -v most="$1" '$1 > most { bad = 1 } END { exit bad || !NR }'
do sleep 0.2; done
"""
_BASELINE_MIB = "256"


@dataclass(frozen=True)
class Bench:
    """A sandbox with one container that has eight GPUs, and the server in it."""

    target: Target
    server: Server
    say: Callable[[str], None]

    def measured(self) -> list[Way]:
        """Each way in turn on the same state: of ours the slower run, of others the faster."""
        runs = []
        for way in (self.by_hand, self.recovered, self.restarted, self.recovered, self.by_hand):
            self._stuck()
            runs.append(way())
            self._whole()
            self.say(f"    {runs[-1].name}: {runs[-1].seconds:.1f} s {runs[-1].said}")
        ours = [way for way in runs if way.name == OURS]
        others = [way for way in runs if way.name != OURS]
        return [*ways.medians(ours), *ways.cheapest(others)]

    def recovered(self) -> Way:
        """One command, over ssh."""
        began = time.monotonic()
        node.on_node(self.target.state, self.target.node, _PYZ, "recover", self.target.vmid)
        seconds = time.monotonic() - began
        self.server.serves(1)
        return Way(OURS, seconds)

    def by_hand(self) -> Way:
        """What nobody can do in less: no time is spent on finding out whom to end."""
        state, home = self.target.state, self.target.node
        pids = [str(pid) for one in started.load(state) for pid, _ in one.processes]
        began = time.monotonic()
        lxc_node.attach(state, home, ["kill", "-KILL", *pids])
        self._memory_back()
        released = time.monotonic()
        self.server.start()
        self.server.serves(60)
        now = time.monotonic()
        said = f"release {released - began:.1f} s, start {now - released:.1f} s"
        return Way(FLOOR, now - began, said=said)

    def restarted(self) -> Way:
        """The container and everything else in it, ended and started again."""
        state, home, vmid = self.target.state, self.target.node, self.target.vmid
        began = time.monotonic()
        lxc_node.attach(state, home, ["pct", "stop", vmid])
        self._memory_back()
        lxc_node.attach(state, home, ["pct", "start", vmid])
        self.server.serves(120)
        said = "ends everything in the container"
        return Way(RESTART, time.monotonic() - began, said=said)

    def _stuck(self) -> None:
        state, home = self.target.state, self.target.node
        for one in started.load(state):
            started.forget(state, one)
        stuck.inject(state, "eight-orphans")
        with gpu.changing(lxc_node.shared(state, home) / "state.json") as told:
            told["failures"]["memory"] = {
                "mode": "late-release",
                "seconds": RELEASE_S,
                "mib": 91000,
                "gpu": None,
                "at": time.time(),
            }
        lxc_node.observe(state, home)

    def _memory_back(self) -> None:
        words = ["sh", "-c", _BACK, "sh", _BASELINE_MIB]
        lxc_node.attach(self.target.state, self.target.node, words)

    def _whole(self) -> None:
        """The server's own processes hold the GPUs, and nothing else in the container does."""
        state, home = self.target.state, self.target.node
        seen = json.loads(lxc_node.attach(state, home, [_PYZ, "look", "--json"]))
        units = {holder["owner"]["unit"] for holder in seen["holders"]}
        if units != {UNIT}:
            raise Refused(f"cannot measure: GPUs are held by {units}, not by {UNIT} alone")


def prepared(state: State, work: Path, say: Callable[[str], None]) -> Bench:
    """Everything is in place, and the server has served once."""
    target = container.of(state)
    say("python3 and a small server into the container, stoker.pyz onto its node")
    with_pyinfra.stoker(state, work).run([target.container], "prepare.py")
    put = f"cat >{_PYZ} && chmod 755 {_PYZ}"
    lxc_node.attach(state, target.node, ["sh", "-c", put], bundle.contents())
    server = Server(target)
    server.placed()
    server.start()
    server.serves(60)
    return Bench(target, server, say)


def aim(found: list[Way]) -> Aim:
    """Little is to be added to what the memory's release and the server's start take."""
    by_name = {way.name: way for way in found}
    what = f"{GPUS} orphans to serving, above release and start"
    return ways.above(what, _ABOVE_S, by_name[OURS], by_name[FLOOR])
