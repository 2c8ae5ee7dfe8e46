"""The proofs of one run: the first unit of each flag set; its sisters need a token only."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pyinfra.api import OperationError

from stoker.operations import proving, recording
from stoker.operations.following import failure, look_at
from stoker.serving.evidence.checked import Checked
from stoker.serving.evidence.record import Proof
from stoker.serving.following import Following, Verdict
from stoker.serving.unit import Unit

MEASURED = "measured"


class Proofs:
    """Of one host; `checked`: what preflight found, by flag set."""

    def __init__(self, host: Any, checked: Mapping[str, Checked]) -> None:
        self.host, self.checked = host, checked
        self._unrecorded: list[tuple[Unit, Proof]] = []
        self._proved: set[str] = set()

    def prove(self, unit: Unit, allow: Callable[[float], None]) -> None:
        """Raises OperationError, with the cause of its death if it died of it."""
        if unit.flagset in self._proved:
            return
        checked = self.checked[unit.flagset]
        course = Following(time.monotonic())
        course.judge(look_at(self.host, unit.name, unit), time.monotonic())
        try:
            full = checked.state != MEASURED
            proof = proving.prove(self.host, unit, checked, full, allow)
        except OperationError as error:
            raise OperationError("\n".join([str(error), *self._death(unit, course)])) from error
        self._proved.add(unit.flagset)
        self._unrecorded.append((unit, proof))

    def record(self, units: Iterable[Unit]) -> None:
        """Keep the proofs of these units, which stay."""
        names = {unit.name for unit in units}
        for unit, proof in self._unrecorded:
            if unit.name in names:
                recording.record(self.host, unit, self.checked[unit.flagset], proof)
        self._unrecorded.clear()

    def _death(self, unit: Unit, course: Following) -> list[str]:
        look = look_at(self.host, unit.name, unit)
        if course.judge(look, time.monotonic()) is not Verdict.DEAD:
            return []
        return failure(self.host, unit, course, dead=True).splitlines()
