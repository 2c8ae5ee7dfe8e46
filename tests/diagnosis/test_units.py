"""`units`: a JSON object a line, whatever one of them is."""

import json
from pathlib import Path
from typing import Any

import pytest

from stoker.diagnosis import reports, units
from tests.diagnosis import programs
from tests.diagnosis.deaths import report
from tests.diagnosis.programs import START

DOWN = programs.FAILED.replace("deactivating", "failed").replace("stop-post", "failed")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(units, "bounded_memory", lambda: None)
    path_of = reports.path_of
    monkeypatch.setattr(reports, "path_of", lambda unit: path_of(unit, str(tmp_path)))
    programs.put(tmp_path, monkeypatch, systemctl=DOWN)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *names: str) -> list[dict[str, Any]]:
    units.told(names, "")
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_every_unit_of_ours_is_judged_by_its_journal(capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys)
    assert [one["unit"] for one in found] == ["sglang.service", "sglang@0.service"]
    assert {one["verdict"]["class"] for one in found} == {"flag_unknown"}
    assert found[0]["death"] and found[0]["last_lines"]


def test_a_name_that_is_no_units_ends_nothing_for_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = told(capsys, "sglang@a\\x2db.service", "sglang.service")
    assert [one["unit"] for one in found] == ["sglang.service"]


def test_of_a_death_that_the_journal_has_let_go_of_the_report_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.put(folder, monkeypatch, systemctl=DOWN, journalctl="")
    reports.keep(reports.path_of("sglang.service"), [report(1, invocation=START)])
    (found,) = told(capsys, "sglang.service")
    assert found["verdict"]["class"] == "gpu_oom"
    assert (found["last_lines"], len(found["reports"])) == ([], 1)


def test_where_systemd_does_not_answer_that_is_no_death_and_no_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.put(folder, monkeypatch, systemctl="exit 1", journalctl="exit 1")
    assert told(capsys) == []
    (found,) = told(capsys, "sglang.service")
    assert found["death"] is None
