"""Evidence that cannot be put aside."""

from __future__ import annotations

from pathlib import Path

from stoker.recovery.acting import Acting
from stoker.recovery.journal import Journal
from stoker.recovery.machine import Machine
from stoker.recovery.node import Node
from stoker.recovery.record import Record
from tests.health.nodes import seen, situation


def test_a_disk_that_takes_no_evidence_is_told_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file, where the folder should be")
    machine = Machine(run=str(tmp_path), cgroup=str(tmp_path), state=str(tmp_path / "state"))
    told: list[str] = []
    journal = Journal(None, told.append)
    acting = Acting(machine, 200, Record(machine, 200), journal)
    Node(machine, 200, (), acting, journal).keep("R1", situation(seen()))
    assert "could not be put aside" in told[0]
