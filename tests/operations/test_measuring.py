"""Servers that serve are measured where they are: kept if it holds, and left as they are if not."""

from typing import Any

import pytest
from pyinfra.api import OperationError

from stoker.operations import measuring, proved, proving, recording
from stoker.operations.measuring import measure
from stoker.serving.deployment import Deployment
from tests.operations.hosts import FakeHost
from tests.serving.flagsets import flagset
from tests.serving.locks import release

EIGHT = flagset(placement={"layout": "one-per-gpu", "gpus": (0, 1)})
WANTED = Deployment(((EIGHT, release()),))
UNITS = WANTED.units("3.11")


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The units whose proofs were kept."""
    units: list[str] = []
    state = type("Checked", (), {"state": "reported"})()
    monkeypatch.setattr(measuring, "unmeasured", lambda *_: {"tiny": state})
    monkeypatch.setattr(proved, "look_at", lambda *_: None)
    monkeypatch.setattr(recording, "record", lambda host, unit, *_: units.append(unit.name))
    return units


def test_one_unit_of_a_flag_set_is_proved_and_its_evidence_kept(
    monkeypatch: pytest.MonkeyPatch, kept: list[str]
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(proving, "prove", lambda *words: asked.append(words[3]))
    host = FakeHost({})
    assert measure(None, host, WANTED, UNITS)
    assert (kept, asked, host.done) == (["sglang@0.service"], [True], [])


def test_one_that_fails_is_told_and_nothing_of_it_is_changed(
    monkeypatch: pytest.MonkeyPatch, kept: list[str]
) -> None:
    def failing(*_: Any) -> None:
        raise OperationError("cannot prove tiny by sglang@0.service: it fell")

    monkeypatch.setattr(proving, "prove", failing)
    host = FakeHost({})
    assert not measure(None, host, WANTED, UNITS)
    assert (kept, host.done) == ([], [])
    assert host.said[0] == "cannot prove tiny by sglang@0.service: it fell"
    assert host.said[-1] == "nothing was changed"
