"""Following units that were started until each gives a token, or will not."""

from __future__ import annotations

import time
import urllib.parse
from dataclasses import replace

from stoker.health.units import UnitState
from stoker.recovery import cgroups, files, inside
from stoker.recovery.inside import Unreachable
from stoker.recovery.journal import Journal
from stoker.recovery.machine import Machine

APART_S = 0.5
PATIENCE_S = 300.0
"""No CPU time worth the name for so long: it waits for something that does not come."""
IDLE = 0.05
"""CPU seconds a second below which a server only polls."""
SETTLED_S = 3.0
"""A unit that cannot be asked serves once it has run so long."""


class Serving:
    """Units on their way up."""

    def __init__(
        self, machine: Machine, vmid: int, names: tuple[str, ...], journal: Journal
    ) -> None:
        self.machine = machine
        self.vmid = vmid
        self.names = names
        self.journal = journal
        self.units: tuple[UnitState, ...] = ()
        """As last seen."""
        self._first: dict[str, int] = {}
        self._worked: dict[str, tuple[float, float]] = {}

    def follow(self, limit_s: float) -> str:
        """Why one of them does not serve, with its last lines; empty: all gave a token."""
        began = time.monotonic()
        while True:
            failure = self._look()
            if failure is not None:
                return failure
            if time.monotonic() - began > limit_s:
                return self._told(self._pending()[0], f"gave no token in {limit_s:.0f} s")
            time.sleep(APART_S)

    def _look(self) -> str | None:
        """Empty: all serve; a sentence: one will not; None: not yet."""
        before = {unit.name: unit for unit in self.units}
        try:
            now = inside.units(self.machine, self.vmid, (), self.names)
        except Unreachable:
            return None  # a container that has just been started lets nobody in yet
        self.units = tuple(self._kept(unit, before.get(unit.name)) for unit in now)
        for unit in self.units:
            why = self._dead(unit)
            if why:
                return self._told(unit, why)
        ready = [unit for unit in self._pending() if self._listens(unit)]
        if ready:
            answered = {u.name: u for u in inside.asked(self.machine, self.vmid, ready)}
            self.units = tuple(answered.get(unit.name, unit) for unit in self.units)
        for unit in self.units:
            if unit.answers and not (unit.name in before and before[unit.name].answers):
                self.journal.tell("serves", f"{unit.name} gave a token", "Z")
        return None if self._pending() else ""

    def _kept(self, unit: UnitState, before: UnitState | None) -> UnitState:
        same = before is not None and before.main_pid == unit.main_pid
        return replace(unit, answers=before.answers) if before is not None and same else unit

    def _pending(self) -> list[UnitState]:
        return [unit for unit in self.units if not self._serves(unit)]

    def _serves(self, unit: UnitState) -> bool:
        if unit.answers:
            return True
        settled = unit.age_s is not None and unit.age_s >= SETTLED_S
        return not unit.url and unit.active == "active" and settled

    def _dead(self, unit: UnitState) -> str:
        first = self._first.setdefault(unit.name, unit.restarts)
        if unit.active == "failed" or unit.restarts > first or unit.sub == "auto-restart":
            return f"ended again ({unit.result})"
        if unit.load in ("not-found", "masked"):
            return f"cannot start: it is {unit.load}"
        return (
            ""
            if self._serves(unit) or self._works(unit)
            else f"does nothing for {PATIENCE_S:.0f} s"
        )

    def _works(self, unit: UnitState) -> bool:
        used, now = self._cpu_s(unit), time.monotonic()
        last_used, at = self._worked.setdefault(unit.name, (used, now))
        if used < last_used or used - last_used > IDLE * max(1.0, now - at):
            self._worked[unit.name] = (used, now)
            return True
        return now - at < PATIENCE_S

    def _cpu_s(self, unit: UnitState) -> float:
        told = files.text(cgroups.folder(self.machine, f"{self._cgroup(unit)}/cpu.stat")).split()
        return int(told[told.index("usage_usec") + 1]) / 1e6 if "usage_usec" in told else 0.0

    def _cgroup(self, unit: UnitState) -> str:
        return f"/lxc/{self.vmid}/ns{unit.cgroup or f'/system.slice/{unit.name}'}"

    def _listens(self, unit: UnitState) -> bool:
        """Whether somebody listens on its port, as the node sees it: asking costs a process."""
        if not unit.main_pid or not unit.url:
            return False
        try:
            port = urllib.parse.urlsplit(unit.url).port or 80
        except ValueError:
            return True  # no URL: whoever asks is told so
        pid = next(cgroups.members(self.machine, self._cgroup(unit)), None)
        if pid is None:
            return True  # not to be seen from here: then it is asked
        sockets = [files.text(f"{self.machine.proc}/{pid}/net/{n}") for n in ("tcp", "tcp6")]
        rows = [line.split() for text in sockets for line in text.splitlines()[1:]]
        return any(r[3] == "0A" and int(r[1].rpartition(":")[2], 16) == port for r in rows)

    def _told(self, unit: UnitState, why: str) -> str:
        lines = inside.last_lines(self.machine, self.vmid, unit.name)
        for line in lines:
            self.journal.tell("log", line, "Z", unit=unit.name)
        last = next((line for line in reversed(lines) if line.strip()), "")
        return f"{unit.name} {why}" + (f"; its last line: {last.strip()}" if last else "")
