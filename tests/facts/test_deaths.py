import json
from pathlib import Path

import pytest

from stoker.diagnosis import reports
from stoker.facts import deaths
from stoker.facts.deaths import DeathReports, Deaths, UnitDeaths
from stoker.health.crash.report import to_json as report_json
from tests.diagnosis.deaths import OOM, death, report
from tests.facts.asked import asked

UNIT = "sglang@0.service"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    layout = type("L", (), {"DEATHS": tmp_path, "DIAGNOSE": tmp_path / "diagnose.pyz"})
    monkeypatch.setattr(deaths, "layout", layout)
    return tmp_path


def test_the_reports_of_every_unit_are_read_with_what_was_shown(folder: Path) -> None:
    assert asked(DeathReports()) == {}
    reports.keep(str(folder / f"{UNIT}.json"), [report(0), report(1, 1100.0)])
    (folder / f"{UNIT}.seen").write_text(report(0).invocation)
    reports.keep(str(folder / "sglang.service.json"), [report(0)])
    (folder / "broken.service.json").write_text("[")
    found = asked(DeathReports())
    assert found[UNIT].unseen == (report(1, 1100.0),)
    assert found["sglang.service"].unseen == (report(0),)
    assert found["broken.service"].unseen == ()


def test_what_was_shown_and_is_gone_since_hides_nothing() -> None:
    assert Deaths((report(0),), "another").unseen == (report(0),)


def test_a_container_without_the_program_has_nothing_to_say(folder: Path) -> None:
    assert asked(UnitDeaths()) == {}


def test_what_the_program_prints_is_read_and_nothing_else(folder: Path) -> None:
    program = folder / "diagnose.pyz"
    one = {
        "unit": UNIT,
        "death": vars(death()),
        "verdict": json.loads(json.dumps(reports.as_json(report(0))))["verdict"],
        "reports": [reports.as_json(report(0))],
        "last_lines": ["a", "b"],
    }
    program.write_text(f"#!/bin/sh\necho \"$@\"\ncat <<'EOF'\n{json.dumps(one)}\nEOF\n")
    program.chmod(0o755)
    found = asked(UnitDeaths(), units=(UNIT,), invocation="f" * 32)[UNIT]
    assert (found.death, found.verdict, found.reports) == (death(), OOM, (report(0),))
    assert found.last_lines == ("a", "b")


def test_a_line_that_is_cut_off_or_of_another_version_is_left_out() -> None:
    whole = {
        "unit": UNIT,
        "death": None,
        "verdict": report_json(OOM),
        "reports": [],
        "last_lines": ["x"],
    }
    other = {**whole, "unit": "sglang.service", "death": {"who": "knows"}}
    lines = [json.dumps(other), json.dumps(whole), json.dumps(whole)[:40]]
    assert list(UnitDeaths().process(lines)) == [UNIT]
