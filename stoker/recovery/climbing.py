"""The loop: look, decide, do, verify, and again. All it knows of the node comes from a `World`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from stoker.health.acts import Act, Change
from stoker.health.done import Done, Key, Permitted, Task
from stoker.health.evidence import stoppable
from stoker.health.ladder import Decision, decide
from stoker.health.plans import plan
from stoker.health.refusal import CLEAN, REBOOT
from stoker.health.seen import Seen
from stoker.health.situation import Situation
from stoker.health.table import Row
from stoker.health.units import UnitState, wanted
from stoker.recovery.journal import Journal

SURE_S = 1.0
"""Before a good look is confirmed; one that was not good is repeated after the row's own time."""

LOOKED_AGAIN = ("reset", "reload")
"""Before these NVIDIA's own report is made, which takes up to a minute: a GPU that was free before
it may not be now."""


class World(Protocol):
    """What the loop needs of a node."""

    def look(self) -> Seen:
        """Everything, the driver asked too."""

    def glance(self, last: Seen) -> Seen:
        """Processes and the container's state as they are now, the rest as it was."""

    def units(self, seen: Seen) -> tuple[UnitState, ...]:
        """The container's units that matter; those that run have been asked for a token."""

    def undying(self) -> tuple[Task, ...]:
        """Tasks of the container that stay in state D."""

    def keep(self, rung: str, situation: Situation) -> None:
        """Put the evidence aside before that rung."""

    def carry_out(self, acts: tuple[Act, ...], rung: str) -> str:
        """Do these; why one that had to succeed did not."""

    def follow(self, names: tuple[str, ...], limit_s: float) -> str:
        """Wait until these units give a token; why one will not."""

    def changes(self) -> tuple[Change, ...]:
        """What has to be given back by now."""

    def killed(self) -> frozenset[Key]:
        """Processes that were sent KILL."""

    def now(self) -> float:
        """Seconds of a clock that only goes forward."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


@dataclass(frozen=True)
class End:
    """How a run ended."""

    decision: Decision
    situation: Situation

    @property
    def code(self) -> int:
        """The exit code."""
        return self.decision.code if self.decision.code is not None else 1

    @property
    def changed(self) -> bool:
        """Whether anything was done but looking and waiting."""
        return any(rung != "W" for rung in self.situation.done.rungs)


class Climb:
    """One run."""

    def __init__(
        self,
        world: World,
        journal: Journal,
        vmid: int,
        permitted: Permitted,
        chosen: tuple[str, ...] | None = None,
        done: Done | None = None,
    ) -> None:
        self.world = world
        self.journal = journal
        self._told: set[tuple[str, str]] = set()
        self._first = (vmid, permitted, chosen, done or Done())

    def run(self, begun: Situation | None = None) -> End:
        """Climb until a row ends it."""
        situation = begun or self.begin()
        while True:
            decision = decide(situation)
            self._tell(decision, situation.permitted)
            if not decision.step:
                return End(decision, situation)
            self.world.keep(decision.rung, situation)
            if decision.step in LOOKED_AGAIN:
                situation = self._whole(situation)
                if decide(situation).row is not decision.row:
                    continue
            situation = self._climb(decision.row, situation)

    def begin(self) -> Situation:
        """The first look, and what has to serve in the end."""
        vmid, permitted, chosen, done = self._first
        seen = self.world.look()
        units = self.world.units(seen)
        container = seen.container(vmid)
        changes = self.world.changes()
        stopped_by_us = Change("container", str(vmid)) in changes
        ran = (container is not None and container.state != "stopped") or stopped_by_us
        begun = Situation(seen, vmid, units, chosen, self.world.undying(), done, permitted)
        done = replace(
            done,
            wanted=done.wanted | wanted(begun.targets, permitted.serve),
            changes=changes,
            gpus=tuple((gpu.uuid, gpu.minor) for gpu in begun.gpus),
            ran=ran,
        )
        return replace(begun, done=done)

    def _climb(self, row: Row, before: Situation) -> Situation:
        began = self.world.now()
        for unit in stoppable(before) if row.step == "stop" else ():
            if not unit.maskable:
                text = f"{unit.name} lies in /etc/systemd/system, where no runtime mask holds it"
                self.journal.tell("unmasked", f"{text}: it is stopped alone", row.name)
        failure = self.world.carry_out(plan(row.step, before), row.name)
        if row.step == "serve" and not failure:
            failure = self.world.follow(tuple(u.name for u in before.to_start), row.bound_s)
        after = self._verified(row, self._noted(row, before, failure), began)
        spent = self.world.now() - began
        verdict = "done" if row.until(after) else "not enough"
        self.journal.tell(
            "rung", f"{verdict} after {spent:.1f} s", row.name, seconds=round(spent, 1)
        )
        if row.step == "reload":
            self._tell_majors(before.seen, after.seen)
        return after

    def _tell_majors(self, before: Seen, after: Seen) -> None:
        """A reload may give the driver another number: lines that have the old one are stale."""
        old, new = before.driver.majors, after.driver.majors
        raw = [f"CT {ct.vmid}" for ct in after.containers if ct.raw]
        stale = f", and set the raw lxc lines of {', '.join(raw)} anew first" if raw else ""
        for name in sorted(set(old) & set(new)):
            if old[name] != new[name]:
                text = f"{name} has the major {new[name]} now, not {old[name]}; restart every "
                self.journal.tell("majors", f"{text}container with a GPU{stale}", "R6")

    def _noted(self, row: Row, before: Situation, failure: str) -> Situation:
        done = before.done
        asked = frozenset((holder.pid, holder.start_ticks) for holder in before.stuck)
        reset = frozenset(gpu.uuid for gpu in (*before.dirty, *before.to_reset))
        return replace(
            before,
            done=replace(
                done,
                rungs=(*done.rungs, row.name),
                asked=done.asked | (asked if row.step == "terminate" else set()),
                ended=done.ended | self.world.killed(),
                changes=self.world.changes(),
                failed=(*done.failed, (row.name, failure)) if failure else done.failed,
                reset_this_boot=done.reset_this_boot | (reset if row.step == "reset" else set()),
                reloaded_this_boot=done.reloaded_this_boot or row.step == "reload",
            ),
        )

    def _verified(self, row: Row, now: Situation, began: float) -> Situation:
        """Looks until enough of them agree, or it is hopeless, or time is up."""
        agreed = 0
        while True:
            now = self._again(row, now)
            good = row.until(now)
            agreed = agreed + 1 if good else 0
            late = self.world.now() - began >= row.limit_s(now.permitted)
            if agreed >= row.samples or late or row.step == "serve" or (not good and row.cut(now)):
                break
            self.world.sleep(min(row.apart_s, SURE_S) if good else row.apart_s)
        if agreed >= row.samples or row.memory or row.step == "serve":
            return now
        return self._whole(now)

    def _again(self, row: Row, now: Situation) -> Situation:
        seen = self.world.look() if row.memory else self.world.glance(now.seen)
        fresh = row.step in ("stop", "stop_container", "serve")
        return replace(now, seen=seen, units=self.world.units(seen) if fresh else now.units)

    def _whole(self, now: Situation) -> Situation:
        seen = self.world.look()
        units = self.world.units(seen)
        return replace(now, seen=seen, units=units, undying=self.world.undying())

    def _tell(self, decision: Decision, permitted: Permitted) -> None:
        for refused in decision.refused:
            ends = refused.rung == "R7"
            if not ends and (refused.rung, refused.reason) not in self._told:
                self._told.add((refused.rung, refused.reason))
                self.journal.tell(
                    "refused", refused.reason, refused.rung, human=refused.human, code=refused.code
                )
        if decision.step:
            row = decision.row
            limit_s = row.limit_s(permitted)
            text = f"{row.title}: {decision.why}; at most {limit_s:.0f} s, else {row.next}"
            self.journal.tell("begin", text, row.name)


def sentence(end: End) -> str:
    """How the run ended, in one line: what is, what is next, and the human's command."""
    row, vmid = end.decision.row, end.situation.vmid
    climbed = ", ".join(dict.fromkeys(rung for rung in end.situation.done.rungs if rung != "W"))
    if end.code == CLEAN:
        units = ", ".join(u.name for u in end.situation.targets if u.standing == "healthy")
        state = f"; {units} gave a token" if units else ""
        how = f"recovered by {climbed}" if climbed else "nothing to do"
        return f"CT {vmid}: {how}{state}" + ("" if climbed else f" ({end.decision.why})")
    tried = f" after {climbed}" if climbed else ""
    if end.code == REBOOT:
        return f"CT {vmid}: HOST REBOOT NEEDED{tried}: {end.decision.why}; {end.decision.human}"
    what = f"next rung {row.name} ({row.title}) is not taken" if row.step else row.title
    later = [
        f"{refused.rung}: {refused.reason}"
        for refused in end.decision.refused
        if refused.rung != row.name and refused.code != REBOOT
    ]
    then = f" (then {'; '.join(later)})" if later else ""
    return f"CT {vmid}: {what}{tried}: {end.decision.why}; {end.decision.human}{then}"
