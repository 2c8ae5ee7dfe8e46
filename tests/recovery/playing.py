"""A node that is played: processes with habits, memory that lags, a driver with moods.

It stands where a real node would be in the climb's `World`. Acts are carried out by their words,
as a node would, so that what is tested is the decision, the plan and the loop, all of them ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from stoker.health.acts import (
    SIGNALS,
    Act,
    Change,
    GiveBack,
    KillCgroup,
    Mark,
    Pause,
    Remember,
    Run,
    Signal,
)
from stoker.health.done import Done, Key, Permitted, Task
from stoker.health.plans import give_back
from stoker.health.seen import Holder, Seen, Smi, Stuck
from stoker.health.situation import Situation
from stoker.health.units import UnitState
from stoker.recovery.climbing import Climb, End, sentence
from stoker.recovery.journal import Journal
from tests.health.nodes import WHOLE, container, gpu, holder, seen

HELD_MIB = 90_000
BASE_MIB = 600


@dataclass
class Played:
    """A process."""

    holder: Holder
    ignores_term: bool = False
    unkillable: str = ""
    """Where it waits for ever."""
    respawns: int = 0
    """How often a supervisor outside of any unit starts it again."""


@dataclass
class Node:
    """CT 200 with GPU 0, CT 201 with GPU 1."""

    processes: list[Played] = field(default_factory=list)
    unit: UnitState | None = None
    clock: float = 0.0
    release_s: float = 0.0
    """How long memory outlives its last holder."""
    residue_until: str = ""
    """What frees memory that nobody holds: a word of a command, or `never`."""
    running: bool = True
    persistence: bool = True
    reset_says: str = "GPU 0000:01:00.0 was successfully reset."
    hangs: str = ""
    """A word of the command after which nvidia-smi does not come back."""
    attach_fails: bool = False
    dies_at_start: bool = False
    gpu: dict[str, Any] = field(default_factory=dict)
    smi: Smi = field(default_factory=lambda: Smi("ok", 0, "", 0.2))
    more: dict[str, Any] = field(default_factory=dict)
    conf: dict[str, Any] = field(default_factory=dict)
    """What is special about CT 200."""
    others: tuple[Any, ...] = (container(201, 1),)
    tasks: tuple[Task, ...] = ()
    log: list[str] = field(default_factory=list)
    """Every act that was done, as words."""
    signalled: list[tuple[int, int]] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    _changes: list[Change] = field(default_factory=list)
    _killed: set[Key] = field(default_factory=set)
    _free_since: float | None = None

    # --- what a climb sees -----------------------------------------------------------------------

    def look(self) -> Seen:
        if self.smi.state != "ok" or self.hangs == "hung":
            smi = self.smi if self.smi.state != "ok" else Smi("hung", None, "no answer", 20)
            used = None
        else:
            smi, used = self.smi, self._used()
        gpus = (
            replace(gpu(0, used, persistence=self.persistence), **self.gpu),
            gpu(1, HELD_MIB if self._on(1) else BASE_MIB if used is not None else None),
        )
        state = self.conf.get("state", "running" if self.running else "stopped")
        first = container(200, 0, **{**self.conf, "state": state})
        look = seen(gpus, self._holders(), (first, *self.others), smi)
        return replace(look, **{"completeness": WHOLE, **self.more})

    def glance(self, last: Seen) -> Seen:
        now = self.look()
        return replace(last, holders=now.holders, containers=now.containers)

    def _holders(self) -> tuple[Holder, ...]:
        return tuple(process.holder for process in self.processes)

    def _on(self, n: int) -> bool:
        return any(f"GPU-{n}" in h.gpus for h in self._holders())

    def _used(self) -> int:
        if self._on(0):
            self._free_since = None
            return HELD_MIB
        if self._free_since is None:
            self._free_since = self.clock
        late = self.clock - self._free_since < self.release_s
        return HELD_MIB if late or self.residue_until else BASE_MIB

    def units(self, seen: Seen) -> tuple[UnitState, ...]:
        if self.unit is None:
            return ()
        if self.attach_fails and self.running:
            return (replace(self.unit, active="unknown"),)
        return (self.unit if self.running else replace(self.unit, active="inactive"),)

    def undying(self) -> tuple[Task, ...]:
        return self.tasks

    def keep(self, rung: str, situation: Situation) -> None:
        self.log.append(f"-- {rung}")

    def changes(self) -> tuple[Change, ...]:
        return tuple(self._changes)

    def killed(self) -> frozenset[Key]:
        return frozenset(self._killed)

    def now(self) -> float:
        return self.clock

    def sleep(self, seconds: float) -> None:
        self.clock += seconds

    def follow(self, names: tuple[str, ...], limit_s: float) -> str:
        assert self.unit is not None
        if self.dies_at_start:
            self.unit = replace(self.unit, active="failed")
            return f"{names[0]} ended again (exit-code)"
        self.unit = replace(self.unit, active="active", sub="running", answers=True)
        return ""

    # --- what it does ----------------------------------------------------------------------------

    def carry_out(self, acts: tuple[Act, ...], rung: str) -> str:
        for act in acts:
            failure = self._do(act)
            if failure and isinstance(act, Run) and act.must:
                return failure
        return ""

    def _do(self, act: Act) -> str:
        if not isinstance(act, (Remember, Mark)):
            self.log.append(str(act))
        if isinstance(act, Run):
            return self._run(act)
        if isinstance(act, Signal):
            self._signal(act.holder.pid, act.number)
        elif isinstance(act, KillCgroup):
            for process in list(self.processes):
                if process.holder.owner.cgroup.startswith(act.path):
                    self._signal(process.holder.pid, 9)
        elif isinstance(act, Remember):
            self._changes.append(act.change)
        elif isinstance(act, GiveBack):
            self.give_back(act.change)
        elif isinstance(act, Mark):
            self.marks.append(act.what)
        elif isinstance(act, Pause):
            self.clock += act.seconds
        return ""

    def give_back(self, change: Change) -> None:
        for run in give_back(change, 200):
            self.log.append(str(run))
            self._run(run)
        self._changes.remove(change)

    def _run(self, act: Run) -> str:
        words = act.words[5:] if act.words[0] == "lxc-attach" else act.words
        if act.words[0] == "lxc-attach" and self.attach_fails:
            self.clock += act.limit_s
            return "no end"
        if act.while_running and not self.running:
            return ""
        if self.residue_until and self.residue_until in f"{' '.join(words)} ":
            self.residue_until = ""
        if self.hangs and self.hangs in words:
            self.clock += act.limit_s
            self.hangs = "hung"
            return f"{act}: no end after {act.limit_s:.0f} s"
        return self._command(words)

    def _command(self, words: tuple[str, ...]) -> str:
        doing: dict[tuple[str, ...], Callable[[], str]] = {
            ("systemctl", "stop"): self._stop_unit,
            ("pct", "shutdown"): self._stop_container,
            ("pct", "stop"): self._stop_container,
            ("pct", "start"): self._start_container,
        }
        if words[0] == "nvidia-smi":
            return self._smi(words)
        done = doing.get(words[:2])
        return done() if done else ""

    def _stop_unit(self) -> str:
        assert self.unit is not None
        self.unit = replace(self.unit, active="inactive", sub="dead", answers=None)
        for process in list(self.processes):
            if "/sglang.service" in process.holder.owner.cgroup and not process.ignores_term:
                self._end(process)
        return ""

    def _stop_container(self) -> str:
        if any(process.unkillable for process in self.processes):
            raise AssertionError("a container with a task that cannot die must not be stopped")
        self.running = False
        self.processes = [p for p in self.processes if p.holder.owner.vmid != 200]
        if self.unit is not None and self.unit.standing != "failed":
            self.unit = replace(self.unit, active="inactive", answers=None)
        return ""

    def _start_container(self) -> str:
        self.running = True
        return ""

    def _smi(self, words: tuple[str, ...]) -> str:
        if words == ("nvidia-smi", "-i", "GPU-1", "-pm", "1"):
            return ""  # as it was; a reload of the driver forgets it
        assert words[1:3] == ("-i", "GPU-0")
        if "-pm" in words:
            self.persistence = words[-1] == "1"
        if "-r" in words:
            assert not self._on(0)
            assert not self.running
            if "successfully" not in self.reset_says:
                return self.reset_says
            self.gpu.pop("recovery_action", None)
        return ""

    def _signal(self, pid: int, number: int) -> None:
        process = next((p for p in self.processes if p.holder.pid == pid), None)
        if process is None:
            return
        self.signalled.append((pid, number))
        assert SIGNALS[number]
        if number == 9:
            self._killed.add((pid, process.holder.start_ticks))
        if process.unkillable:
            if number == 9:
                stuck = Stuck("unkillable", process.unkillable, "wait_on")
                process.holder = replace(process.holder, state="D", stuck=stuck)
        elif number == 9 or not process.ignores_term:
            self._end(process)

    def _end(self, process: Played) -> None:
        self.processes.remove(process)
        if process.respawns:
            again = replace(process.holder, pid=process.holder.pid + 1, start_ticks=10**6)
            self.processes.append(replace(process, holder=again, respawns=process.respawns - 1))


told: list[Callable[[str, object], None]] = []
"""Who is told of each rung: the test's `record_property`."""


def climb(
    node: Node,
    done: Done | None = None,
    also: Callable[[str], None] | None = None,
    **permitted: Any,
) -> End:
    """One run, and what it has taken given back as a real one does."""
    begun = Climb(node, Journal(None, also), 200, Permitted(**permitted), None, done)
    end = begun.run()
    for change in reversed(node.changes()):
        node.give_back(change)
    assert sentence(end)
    for rung in rungs(end):
        for tell in told:
            tell("rung", rung)
    return end


def rungs(end: End) -> list[str]:
    """What was climbed, waiting left out."""
    return [rung for rung in end.situation.done.rungs if rung != "W"]


def orphan(pid: int = 4711, **more: Any) -> Played:
    """A process that somebody started in the container outside of any unit."""
    return Played(holder(pid, "/lxc/200/ns/.lxc", 0), **more)


def worker(pid: int = 4800, **more: Any) -> Played:
    """A process in the unit's cgroup."""
    return Played(holder(pid, "/lxc/200/ns/system.slice/sglang.service", 0), **more)


def failed(**more: Any) -> UnitState:
    """Our unit, down after a crash."""
    return UnitState("sglang.service", active="failed", enabled=True, **more)
