"""Whether one process holds a GPU at this moment; the last question before a signal."""

from __future__ import annotations

import os

from stoker.recovery import cards, in_time, process, tables, targets
from stoker.recovery.machine import Machine
from stoker.recovery.mapped import Mappings
from stoker.recovery.targets import Targets

BUDGET_S = 1.0


class Holding:
    """Asks about single processes; the driver's device numbers are read once."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._targets: Targets | None = None

    def __call__(self, pid: int) -> bool:
        """Whether it has one of the driver's nodes open or mapped; False if it has gone."""
        if self._targets is None:
            self._targets = targets.of(self._machine, cards.found(self._machine))
        return self._opened(pid, self._targets) or self._mapped(pid, self._targets)

    def _opened(self, pid: int, wanted: Targets) -> bool:
        try:
            directory = os.open(f"{self._machine.proc}/{pid}", os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return False
        try:
            stat = process.parse_stat(process.read(directory, "stat"))
            real = self._machine.proc == "/proc"
            found = tables.read(directory, pid, stat.threads, wanted.wanted, real)
            return bool(found.found)
        except (OSError, ValueError):
            return False
        finally:
            os.close(directory)

    def _mapped(self, pid: int, wanted: Targets) -> bool:
        mappings = Mappings(self._machine.proc, wanted.wanted)
        told = in_time.answers(mappings.read, [pid], in_time.Budget(BUDGET_S))
        return bool(told.get(pid))
