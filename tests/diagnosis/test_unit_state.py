import pytest

from stoker.diagnosis import reports, unit_state

LISTED = """\
sglang.service loaded active running SGLang
sglang@0.service loaded active running SGLang
sglang@a\\x2db.service loaded active running somebody's
sglang@.service static
sglang-stage-many.service loaded active exited copy
"""


def test_every_unit_that_is_ours_can_have_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_state, "answer", lambda words: LISTED)
    found = unit_state.ours()
    assert found == ["sglang.service", "sglang@0.service"]
    assert all(reports.path_of(unit) for unit in found)
