from dataclasses import replace

import pytest

from stoker.serving import rules
from stoker.serving.rules import loading, stored
from tables import known_bad


def test_the_stored_rows_are_fresh() -> None:
    assert known_bad.main(["--check"]) == 0, "run `make tables`"


def test_a_row_is_stored_as_it_was_written() -> None:
    written = loading.file_of(known_bad.DATA / "known_bad.yaml")
    assert rules.load() == tuple(replace(row, origin="") for row in written)
    assert stored.load(stored.dumped(written)) == written


def test_an_old_table_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "dumped", lambda _: "[]")
    assert known_bad.main(["--check"]) == 1
