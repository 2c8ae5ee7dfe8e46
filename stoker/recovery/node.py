"""The `World` of a real node: looks, the container's units, and the acts."""

from __future__ import annotations

import time
from dataclasses import replace

from stoker.health.acts import Act, Change
from stoker.health.done import Key, Task
from stoker.health.seen import Container, Seen
from stoker.health.situation import Situation
from stoker.health.units import UnitState
from stoker.recovery import (
    cards,
    cgroup,
    cgroups,
    inside,
    keeping,
    looking,
    scanning,
    serving,
    targets,
    tasks,
)
from stoker.recovery.acting import Acting
from stoker.recovery.inside import Unreachable
from stoker.recovery.journal import Journal
from stoker.recovery.machine import Machine
from stoker.recovery.targets import Targets


class Node:
    """One run's view of its node."""

    def __init__(
        self,
        machine: Machine,
        vmid: int,
        named: tuple[str, ...],
        acting: Acting,
        journal: Journal,
        learn: bool = True,
    ) -> None:
        self.machine = machine
        self.vmid = vmid
        self.named = named
        self.acting = acting
        self.journal = journal
        self._learn = learn
        self._targets: Targets | None = None
        self._known: dict[str, UnitState] = {}

    def look(self) -> Seen:
        """Everything."""
        self._targets = targets.of(self.machine, cards.found(self.machine))
        return looking.look(self.machine, learn=self._learn)

    def glance(self, last: Seen) -> Seen:
        """Processes, and whether the container is still there."""
        holders, completeness = scanning.scan(self.machine, self._targets)
        containers = tuple(self._now(ct) if ct.vmid == self.vmid else ct for ct in last.containers)
        return replace(
            last,
            holders=holders,
            completeness=completeness,
            containers=containers,
            time=time.time(),
        )

    def _now(self, container: Container) -> Container:
        return replace(container, state=cgroup.seen(self.machine, self.vmid).state)

    def units(self, seen: Seen) -> tuple[UnitState, ...]:
        """As systemd has them now; one that answered before is not asked again."""
        container = seen.container(self.vmid)
        if container is None or container.state == "frozen":
            return ()
        if container.state != "running":
            return self._down()
        beside = {
            h.owner.unit
            for h in seen.holders
            if h.owner.kind == "ct"
            and h.owner.vmid == self.vmid
            and h.owner.unit.endswith(".service")
        }
        try:
            units = inside.units(
                self.machine, self.vmid, container.gpus, self.named, sorted(beside)
            )
        except Unreachable as error:
            self.journal.tell("failed", f"cannot ask the container's systemd: {error}")
            return self._unasked(str(error))
        return self._answered(tuple(self._identified(unit) for unit in units))

    def _down(self) -> tuple[UnitState, ...]:
        """Of a container that is stopped, those that we know from before."""
        for name in self.acting.record.wanted:
            self._known.setdefault(name, UnitState(name, enabled=True))
        return tuple(
            replace(unit, active="inactive", sub="dead", main_pid=None, answers=None, said="")
            for unit in self._known.values()
        )

    def _unasked(self, why: str) -> tuple[UnitState, ...]:
        names = self.named or tuple(self._known) or cgroups.servers(self.machine, self.vmid)
        return tuple(
            replace(
                self._known.get(name, UnitState(name)), active="unknown", answers=None, said=why
            )
            for name in names
        )

    def _identified(self, unit: UnitState) -> UnitState:
        """While it is masked systemd does not know what it is; we do."""
        known = self._known.get(unit.name)
        if unit.load == "masked" and known is not None:
            unit = replace(
                unit,
                file=known.file,
                url=known.url,
                model=known.model,
                python=known.python,
                gpus=known.gpus,
                guarded=known.guarded,
                enabled=known.enabled,
            )
        return unit

    def _answered(self, units: tuple[UnitState, ...]) -> tuple[UnitState, ...]:
        new = [u for u in units if u.target and u.active == "active" and not self._same(u)]
        fresh = {unit.name: unit for unit in inside.asked(self.machine, self.vmid, new)}
        told = tuple(fresh.get(unit.name) or self._remembered(unit) for unit in units)
        self._known.update({unit.name: unit for unit in told})
        return told

    def _same(self, unit: UnitState) -> bool:
        known = self._known.get(unit.name)
        return known is not None and known.main_pid == unit.main_pid and known.answers is not None

    def _remembered(self, unit: UnitState) -> UnitState:
        if unit.active != "active" or not self._same(unit):
            return unit
        known = self._known[unit.name]
        return replace(unit, answers=known.answers, said=known.said)

    def undying(self) -> tuple[Task, ...]:
        """Looked at twice: everything waits for a disk now and then."""
        return tasks.waiting(self.machine, self.vmid)

    def keep(self, rung: str, situation: Situation) -> None:
        """Into the run's folder of evidence; a disk that is full stops no recovery."""
        try:
            keeping.keep(self.machine, self.vmid, rung, situation)
        except OSError as error:
            why = f"{error.filename or self.machine.state}: {error.strerror}"
            self.journal.tell("failed", f"cannot keep evidence: {why}", rung)

    def carry_out(self, acts: tuple[Act, ...], rung: str) -> str:
        """By the hands of this run."""
        return self.acting.carry_out(acts, rung)

    def follow(self, names: tuple[str, ...], limit_s: float) -> str:
        """To a token each; what they answered is known from then on."""
        served = serving.Serving(self.machine, self.vmid, names, self.journal)
        failure = served.follow(limit_s)
        self._known.update({unit.name: unit for unit in served.units})
        return failure

    def changes(self) -> tuple[Change, ...]:
        """As the record has them."""
        return self.acting.record.changes

    def killed(self) -> frozenset[Key]:
        """By the hands of this run."""
        return self.acting.killed

    def now(self) -> float:
        """The monotonic clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
