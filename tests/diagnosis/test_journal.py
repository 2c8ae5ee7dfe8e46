import sys
from collections.abc import Iterator

import pytest

from stoker.diagnosis import journal, running
from stoker.diagnosis.journal import Log

START = "a3cfaceed55b420594d7f841588c097a"


def test_a_long_log_is_read_at_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def output(words: list[str], most: int) -> Iterator[bytes]:
        asked.append(words)
        yield b"head\n" * 4 if "-n" not in words else b"tail\n"

    monkeypatch.setattr(journal, "output", output)
    monkeypatch.setattr(journal, "HEAD_BYTES", 20)
    log = Log(START)
    assert b"".join(log.chunks()) == b"head\n" * 4 + b"\n" + b"tail\n"
    assert log.cut_after == 4
    assert log.last_lines()[-1] == "tail"
    assert "_TRANSPORT=stdout" in asked[0]


def test_what_is_no_invocation_is_never_asked_for() -> None:
    for hostile in ("", "x", f"{START} + PRIORITY=0", START.upper()):
        assert list(Log(hostile).chunks()) == []


def test_bytes_that_are_no_text_and_long_lines_are_kept_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        journal, "output", lambda words, most: iter([b"caf\xe9\n", b"y" * 9999 + b"\n"])
    )
    log = Log(START)
    list(log.chunks())
    first, second = log.last_lines()
    assert first == "caf\N{REPLACEMENT CHARACTER}"
    assert len(second) == journal.LONGEST_LINE


def test_output_ends_at_its_bound_and_a_failure_without_a_word_is_told() -> None:
    endless = [sys.executable, "-c", "while True: print('x' * 1000)"]
    assert sum(map(len, running.output(endless, 10**6))) < 10**6 + running.CHUNK_BYTES
    with pytest.raises(running.Failed, match="ended with 3: why"):
        list(
            running.output(
                [sys.executable, "-c", "import sys; print('why', file=sys.stderr); sys.exit(3)"], 10
            )
        )
    with pytest.raises(running.Failed, match="No such file"):
        list(running.output(["/nowhere"], 10))
    with pytest.raises(running.Failed, match="timed out"):
        running.answer(["sleep", "9"], 0.1)
