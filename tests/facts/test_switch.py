"""The journal of a switch as a run finds it, read by the fact's own command."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from stoker.facts.switch import Switch, SwitchState
from stoker.serving import layout
from tests.facts.asked import asked


@pytest.fixture(autouse=True)
def _paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "SWITCH", tmp_path / "switch")


def test_no_journal_is_no_switch() -> None:
    assert asked(Switch()) == Switch.default() == SwitchState()


def test_a_journal_names_the_units_that_it_touches(tmp_path: Path) -> None:
    (tmp_path / "switch").mkdir()
    (tmp_path / "switch" / "units").write_text("sglang@0.service\nsglang@1.service\n")
    assert asked(Switch()) == SwitchState(True, ("sglang@0.service", "sglang@1.service"))


def test_files_that_are_mended_are_a_switch_of_no_unit(tmp_path: Path) -> None:
    (tmp_path / "switch").mkdir()
    (tmp_path / "switch" / "units").touch()
    assert asked(Switch()) == SwitchState(True)


def test_what_was_undone_without_a_run_is_told_with_its_time(tmp_path: Path) -> None:
    (tmp_path / "switch-undone").write_text("1796000000\nsglang.service\n")
    when = datetime.fromtimestamp(1796000000, UTC)
    assert asked(Switch()) == SwitchState(undone=("sglang.service",), undone_at=when)
