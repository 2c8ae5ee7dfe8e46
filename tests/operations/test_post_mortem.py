from types import SimpleNamespace
from typing import Any

import pytest

from stoker.facts.deaths import UnitDeath, UnitDeaths
from stoker.health.crash.verdict import Verdict
from stoker.operations import post_mortem
from tests.operations.hosts import FakeHost
from tests.serving.flagsets import units

LAST = tuple(f"word {number}" for number in range(20))
SILENT = Verdict(
    name="silent_death",
    phase="decode",
    line=None,
    text="",
    cause="no cause in the log",
    action="look",
    confidence="low",
    details=("looked at: the log", *(f"last lines: {line}" for line in LAST)),
)


def test_where_a_logs_last_lines_follow_the_paragraph_quotes_three(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unit = units()[0]
    monkeypatch.setattr(post_mortem, "joined", lambda verdict, *_: verdict)
    dead: Any = SimpleNamespace(verdict=SILENT, death=None)
    found: dict[str, UnitDeath] = {unit.name: dead}
    told = post_mortem.lines(FakeHost({UnitDeaths: found}), unit, "i", "it ended", LAST, True)
    quoted = [line.strip() for line in told if "last lines: " in line]
    assert quoted == [f"last lines: {line}" for line in LAST[-3:]]
    assert any("looked at: the log" in line for line in told)
    assert [line.strip() for line in told[-20:]] == list(LAST)
