"""Carries out the acts of a plan, one after the other, and undoes what was changed."""

from __future__ import annotations

import time
from typing import Callable

from stoker.health import plans
from stoker.health.acts import Act, Change, GiveBack, KillCgroup, Mark, Pause, Remember, Run, Signal
from stoker.health.done import Key
from stoker.recovery import abandoned, cgroups, commands, signals
from stoker.recovery.attempts import Attempts
from stoker.recovery.holding import Holding
from stoker.recovery.journal import Journal
from stoker.recovery.machine import Machine
from stoker.recovery.record import Record
from stoker.recovery.signals import GONE, SENT


def kind_of(act: Act) -> str:
    """The event that tells of it: `note` is for our own bookkeeping."""
    return "note" if isinstance(act, (Remember, Mark)) else "act"


class Acting:
    """The hands of one run. Every act is told before it is done."""

    def __init__(
        self,
        machine: Machine,
        vmid: int,
        record: Record,
        journal: Journal,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.machine = machine
        self.vmid = vmid
        self.record = record
        self.journal = journal
        self.killed: frozenset[Key] = frozenset()
        """Processes that were sent KILL."""
        self._holds = Holding(machine)
        self._sleep = sleep

    def carry_out(self, acts: tuple[Act, ...], rung: str) -> str:
        """Do them all; why one that had to succeed did not, or empty."""
        for act in acts:
            if isinstance(act, Run) and act.while_running and not self._runs():
                continue
            if not isinstance(act, GiveBack):  # which tells its own
                self.journal.tell(kind_of(act), str(act), rung)
            failure = self._do(act)
            if failure:
                self.journal.tell("failed", failure, rung)
            if failure and isinstance(act, Run) and act.must:
                return failure
        return ""

    def give_back(self, change: Change) -> str:
        """Undo a change and strike it out; why it could not be undone, or empty."""
        if change.kind == "frozen":
            cgroups.thaw(self.machine, change.name)
        if change.kind == "container" and self._runs():
            return self._never_stopped(change)
        for run in plans.give_back(change, self.vmid):
            if run.while_running and not self._runs():
                continue
            if run.driver and abandoned.of_driver(self.machine):
                return f"not done while an earlier command hangs in the driver: {run}"
            self.journal.tell("act", str(run))
            failure = self._run(run)
            if failure:
                return failure
        self.record.forget(change)
        return ""

    def _never_stopped(self, change: Change) -> str:
        """It runs, so nothing is owed, unless a `pct` that was left behind stops it yet."""
        for one in abandoned.alive(self.machine):
            if one["words"][0] == "pct" and change.name in one["words"]:
                words = " ".join(one["words"])
                return f"CT {change.name} still runs, and `{words}` (process {one['pid']}) hangs"
        self.record.forget(change)
        return ""

    def _do(self, act: Act) -> str:
        if isinstance(act, Run):
            return self._run(act)
        if isinstance(act, Signal):
            return self._signal(act)
        if isinstance(act, KillCgroup):
            return self._kill_cgroup(act)
        if isinstance(act, Remember):
            self.record.remember(act.change)
        elif isinstance(act, GiveBack):
            return self.give_back(act.change)
        elif isinstance(act, Mark):
            Attempts(self.machine).mark(act.what)
        elif isinstance(act, Pause):
            self._sleep(act.seconds)
        return ""

    def _run(self, act: Run) -> str:
        if act.driver and abandoned.of_driver(self.machine):
            return f"not done while an earlier command hangs in the driver: {act}"
        if act.words[0] == "lxc-attach" and cgroups.frozen(self.machine, self.vmid):
            return f"CT {self.vmid} is frozen"
        if act.repeated:
            return self._repeated(act)
        if not (act.driver or act.abandoned):
            return commands.read(act.words, act.limit_s).failure
        ran = commands.change(
            act.words,
            act.limit_s,
            lambda pid, ticks: self._note(act, pid, ticks),
        )
        if act.words[-1] == "-r" and ran.code == 0 and "successfully reset" not in ran.out:
            return f"{act}: {ran.out.strip()}"  # a reset may fail with exit 0
        return ran.failure

    def _note(self, act: Run, pid: int, ticks: int) -> None:
        try:
            abandoned.note(self.machine, act.words, pid, ticks, act.driver)
        except OSError as error:  # it runs by now, and is waited for all the same
            self.journal.tell("failed", f"cannot note that process {pid} runs: {error}")

    def _repeated(self, act: Run) -> str:
        end = time.monotonic() + act.limit_s
        while True:
            failure = commands.read(act.words, max(1.0, end - time.monotonic())).failure
            if not failure or time.monotonic() >= end:
                return failure
            self._sleep(0.2)

    def _signal(self, act: Signal) -> str:
        holder = act.holder
        how = signals.send(self.machine, holder, self.vmid, act.number, self._holds)
        if how == SENT and act.number == plans.KILL:
            self.killed |= {(holder.pid, holder.start_ticks)}
        return "" if how in (SENT, GONE) else f"not signalled: {how}"

    def _kill_cgroup(self, act: KillCgroup) -> str:
        change = Change("frozen", act.path)
        fallback = not cgroups.can_kill(self.machine, act.path)
        if fallback:
            self.record.remember(change)
        failure = cgroups.kill(self.machine, act.path, self.vmid)
        if fallback:
            self.record.forget(change)
        if not failure:
            self.killed |= {(h.pid, h.start_ticks) for h in act.holders}
        return failure

    def _runs(self) -> bool:
        return cgroups.there(self.machine, self.vmid)
