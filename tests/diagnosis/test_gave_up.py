from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stoker.diagnosis import ends, gave_up, reports, unit_state
from stoker.diagnosis.judging import Judged
from stoker.diagnosis.unit_state import UnitState, parsed
from tests.diagnosis.deaths import OOM, report

UNIT = "sglang.service"
LAST = report(2, 1_795_994_760.0)
LOOP = [report(0, 1_795_994_520.0), report(1, 1_795_994_640.0), LAST]
# As it stands after the third death: the fourth start was refused, and is counted.
FAILED = replace(
    parsed(UNIT, "ActiveState=failed\nNRestarts=3\nResult=exit-code\nExecMainPID=9", 0.0),
    invocation=LAST.invocation,
    started=1_795_994_700.0,
    ended=1_795_994_760.0,
)


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What reaches the journal, for a unit that has died three times."""
    lines: list[str] = []
    path = str(tmp_path / "reports.json")
    reports.keep(path, LOOP)
    monkeypatch.setattr(reports, "path_of", lambda unit: path)
    monkeypatch.setattr(gave_up, "bounded_memory", lambda: None)
    monkeypatch.setattr(gave_up, "say", lambda unit, told, priority: lines.extend(told))
    monkeypatch.setattr(gave_up, "judged", lambda *_: Judged(replace(OOM, cause="later"), ()))
    monkeypatch.setattr(ends, "asked_for", lambda *_, queued: False)
    return lines


def ended(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> None:
    state: UnitState = replace(FAILED, **changed)
    monkeypatch.setattr(unit_state, "look", lambda unit: state)
    gave_up.gave_up(UNIT)


def test_the_first_failure_of_the_loop_is_the_one_that_is_told(
    said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(monkeypatch)
    assert said[0] == (
        "sglang.service gave up after 3 starts in 5 min; the first failure, "
        "2026-11-29 23:22:00 UTC: a CUDA graph did not fit"
    )
    assert "  more: stoker explain gpu_oom" in said
    assert len(said) <= 10


def test_a_last_death_that_could_not_be_reported_still_counts(
    said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reports.keep(reports.path_of(UNIT), LOOP[:2])
    ended(monkeypatch)
    assert said[0].startswith("sglang.service gave up after 3 starts in 5 min; the first failure")


def test_a_stop_that_was_asked_for_and_ended_by_kill_is_no_giving_up(
    said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ends, "asked_for", lambda *_, queued: True)
    ended(monkeypatch, invocation="another", result="signal", restarts=0)
    assert said == []


def test_a_unit_that_somebody_has_started_meanwhile_has_not_given_up(
    said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(monkeypatch, active="activating", sub="start-pre")
    assert said == []
