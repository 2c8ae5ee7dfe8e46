"""The dry run: the same decisions and the same plans, by hands that only say what they would do."""

from __future__ import annotations

from dataclasses import replace

from stoker.health.acts import Act, Change, GiveBack, KillCgroup, Mark, Remember, Signal
from stoker.health.done import Key, Task
from stoker.health.plans import KILL, give_back
from stoker.health.seen import Gpu, Seen
from stoker.health.situation import Situation
from stoker.health.units import RUNS, UnitState
from stoker.recovery.journal import Journal


class Rehearsal:
    """A `World` in which nothing ever helps, seen once; only a stopped container has no holders."""

    def __init__(self, situation: Situation, journal: Journal) -> None:
        self._begun = situation
        self._seen = situation.seen
        self._journal = journal
        self._changes: tuple[Change, ...] = situation.done.changes
        self._killed: frozenset[Key] = frozenset()
        self._clock = 0.0

    def look(self) -> Seen:
        """As it was; the container stopped once that has been said."""
        return self._seen

    def glance(self, last: Seen) -> Seen:
        """The same."""
        return self._seen

    def units(self, seen: Seen) -> tuple[UnitState, ...]:
        """As they were."""
        return self._begun.units

    def undying(self) -> tuple[Task, ...]:
        """As they were."""
        return self._begun.undying

    def keep(self, rung: str, situation: Situation) -> None:
        """Nothing is written."""

    def carry_out(self, acts: tuple[Act, ...], rung: str) -> str:
        """Say each."""
        for act in acts:
            for words in in_words(act, self._begun.vmid):
                self._journal.tell("would", words, rung)
            if isinstance(act, Remember):
                self._changes = (*self._changes, act.change)
                if act.change.kind == "container":
                    self._seen = stopped(self._begun)
            if isinstance(act, KillCgroup):
                self._killed |= {(h.pid, h.start_ticks) for h in act.holders}
            if isinstance(act, Signal) and act.number == KILL:
                self._killed |= {(act.holder.pid, act.holder.start_ticks)}
        return ""

    def follow(self, names: tuple[str, ...], limit_s: float) -> str:
        """Say for whom it would be waited."""
        text = f"ask {', '.join(names)} for a generated token, at most {limit_s:.0f} s"
        self._journal.tell("would", text, "Z")
        return ""

    def changes(self) -> tuple[Change, ...]:
        """What would have to be given back."""
        return self._changes

    def killed(self) -> frozenset[Key]:
        """What would have been sent KILL."""
        return self._killed

    def now(self) -> float:
        """Every bound is over at the next look."""
        self._clock += 1e6
        return self._clock

    def sleep(self, seconds: float) -> None:
        """Not here."""


def stopped(begun: Situation) -> Seen:
    """Without the container and what lives in it; its memory stays, as nothing ever helps."""
    seen = begun.seen
    holders = tuple(h for h in seen.holders if not begun.is_ours(h))
    containers = tuple(
        replace(ct, state="stopped") if ct.vmid == begun.vmid else ct for ct in seen.containers
    )
    return replace(seen, holders=holders, containers=containers)


def in_words(act: Act, vmid: int) -> tuple[str, ...]:
    """The commands of an act; none for our own bookkeeping."""
    if isinstance(act, GiveBack):
        return tuple(str(run) for run in give_back(act.change, vmid))
    return () if isinstance(act, (Remember, Mark)) else (str(act),)


def freed(end: Situation) -> Situation:
    """The same, had it helped: no stuck holder, memory back, the units down and masked."""
    stuck = frozenset(h.pid for h in end.stuck)
    holders = tuple(h for h in end.seen.holders if h.pid not in stuck)
    gpus = tuple(_clean(gpu) if gpu in end.gpus else gpu for gpu in end.seen.gpus)
    units = tuple(_down(unit, end) for unit in end.units)
    done = replace(end.done, rungs=("R1", "W"))
    return replace(end, seen=replace(end.seen, holders=holders, gpus=gpus), units=units, done=done)


def _clean(gpu: Gpu) -> Gpu:
    """At its baseline and content, unless it was already."""
    return replace(gpu, used_mib=0, recovery_action="None", error="", off_bus=False)


def _down(unit: UnitState, end: Situation) -> UnitState:
    if unit in end.left_alone and unit.standing in RUNS:
        return unit
    state = unit.active if unit.active == "failed" else "inactive"
    return replace(unit, active=state, sub="dead", main_pid=None, answers=None)
