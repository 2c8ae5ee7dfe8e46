from collections.abc import Iterator
from dataclasses import replace

import pytest

from stoker.diagnosis import judging
from stoker.diagnosis.journal import Log
from stoker.diagnosis.running import Failed
from stoker.diagnosis.unit_state import parsed
from tests.diagnosis.deaths import OOM

STATE = parsed("sglang.service", "", 0.0)


def judged(monkeypatch: pytest.MonkeyPatch, chunks: Iterator[bytes], limit_s: float = 5) -> str:
    monkeypatch.setattr(Log, "chunks", lambda self: chunks)
    found = judging.judged(STATE, "f" * 32, limit_s)
    assert found.verdict.name == "silent_death"
    return found.verdict.cause


def unreadable() -> Iterator[bytes]:
    raise Failed("journalctl ended with 1: no journal")
    yield b""


def endless() -> Iterator[bytes]:
    while True:
        yield b"x" * 1000 + b"\n"


def hostile() -> Iterator[bytes]:
    raise RecursionError("too deep")
    yield b""


def test_a_journal_that_cannot_be_read_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(monkeypatch, unreadable()) == (
        "its log cannot be read: journalctl ended with 1: no journal"
    )


def test_a_log_without_end_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "was not judged to the end within" in judged(monkeypatch, endless(), 0.3)


def test_whatever_the_classifier_meets_the_report_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "RecursionError: too deep" in judged(monkeypatch, hostile())


def test_after_what_was_left_out_no_line_has_a_number() -> None:
    late = replace(OOM, line=99, details=("line 98: a", "line 7: b", "systemd: c"))
    assert judging.numbered(late, None) == late
    shown = judging.numbered(late, 50)
    assert (shown.line, shown.details) == (None, ("a", "line 7: b", "systemd: c"))
    assert judging.numbered(replace(OOM, line=42), 50).line == 42
