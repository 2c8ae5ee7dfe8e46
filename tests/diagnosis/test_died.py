"""`died`, with systemd and the journal as programs that answer, fail, hang or talk nonsense."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stoker.diagnosis import __main__, died, gave_up, judging, reports, saying, unfailing
from tests.diagnosis import programs
from tests.diagnosis.programs import SAID, START

UNIT = "sglang.service"


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What the unit's journal gets; its reports lie in `tmp_path`."""
    lines: list[str] = []

    def say(unit: str, told: list[str], priority: int = 4) -> None:
        lines.extend(told)

    rooms: tuple[Any, ...] = (died, gave_up, unfailing)
    for room in rooms:
        monkeypatch.setattr(room, "say", say)
    for room in rooms[:2]:
        monkeypatch.setattr(room, "bounded_memory", lambda: None)
    path = str(tmp_path / "reports.json")
    monkeypatch.setattr(reports, "path_of", lambda unit: path)
    for key, value in SAID.items():
        monkeypatch.setenv(key, value)
    programs.put(tmp_path, monkeypatch)
    mask, term = os.umask(0o022), signal.getsignal(signal.SIGTERM)
    yield lines
    os.umask(mask)
    signal.signal(signal.SIGTERM, term)


def kept(tmp_path: Path) -> list[str]:
    return [one.verdict.name for one in reports.read(str(tmp_path / "reports.json"))]


def test_a_death_is_told_in_the_units_journal_and_kept(said: list[str], tmp_path: Path) -> None:
    assert __main__.main(["died", UNIT]) == 0
    assert said[0].startswith(f"{UNIT}: ") and "  more: stoker explain flag_unknown" in said
    (one,) = reports.read(str(tmp_path / "reports.json"))
    assert (one.invocation, one.death.status, one.death.restarts) == (START, "2", 1)


def test_a_report_says_that_no_stop_was_asked_for_and_what_the_oom_killer_did_since_the_last(
    said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = iter([3, 3, 5])
    monkeypatch.setattr(died.oom, "counter", lambda: next(counts))
    for _ in range(3):
        assert __main__.main(["died", UNIT]) == 0
    kept = [one.death for one in reports.read(str(tmp_path / "reports.json"))]
    assert [(one.asked, one.oom_kills) for one in kept] == [(False, None), (False, 0), (False, 2)]


def test_a_systemd_that_does_not_answer_says_nothing_of_a_stop(
    said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs.put(tmp_path, monkeypatch, systemctl="exit 1")
    assert __main__.main(["died", UNIT]) == 0
    (one,) = reports.read(str(tmp_path / "reports.json"))
    assert one.death.asked is None


def test_a_stop_that_was_asked_for_is_no_death(
    said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued = f"case $1 in list-jobs) echo 7 {UNIT} stop running ;; esac"
    programs.put(tmp_path, monkeypatch, systemctl=queued)
    assert __main__.main(["died", UNIT]) == 0
    assert (said, kept(tmp_path)) == ([], [])


@pytest.mark.parametrize(
    "scripts",
    [
        {"systemctl": "exit 1", "journalctl": "echo no journal >&2; exit 1"},
        {"systemctl": "echo '['", "journalctl": "echo '['"},
        {"journalctl": 'case "$*" in *--sync*) exit 1 ;; *) kill -9 $$ ;; esac'},
        {"systemctl": "kill -9 $$", "journalctl": "head -c 300000 /dev/urandom"},
    ],
    ids=["failing", "nonsense", "killed", "noise"],
)
def test_whatever_systemd_and_the_journal_do_it_is_kept(
    scripts: dict[str, str], said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs.put(tmp_path, monkeypatch, **scripts)
    assert __main__.main(["died", UNIT]) == 0
    assert said and len(kept(tmp_path)) == 1


@pytest.mark.parametrize("text", ["[", '[{"verdict": "x"}]', "[1]", '"x"'])
def test_a_damaged_file_of_reports_is_replaced(text: str, said: list[str], tmp_path: Path) -> None:
    (tmp_path / "reports.json").write_text(text)
    assert __main__.main(["died", UNIT]) == 0
    assert kept(tmp_path) == ["flag_unknown"]


def test_a_report_that_cannot_be_kept_is_said(
    said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(reports, "path_of", lambda unit: str(tmp_path / "file/reports.json"))
    assert __main__.main(["died", UNIT]) == 0
    assert "cannot keep the report" in said[-1] and "explain flag_unknown" in said[-2]


def raising(error: BaseException) -> Callable[..., None]:
    def act(*given: object) -> None:
        raise error

    return act


@pytest.mark.parametrize("command", ["died", "gave-up"])
@pytest.mark.parametrize(
    ("error", "why"),
    [
        (MemoryError(), "there is no memory left for it"),
        (AssertionError("two\nlines"), "AssertionError: two lines"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ],
    ids=["memory", "bug", "interrupt"],
)
def test_what_nobody_expected_is_a_sentence_and_no_failure(
    command: str,
    error: BaseException,
    why: str,
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stoker.diagnosis.unit_state.look", raising(error))
    assert __main__.main([command, UNIT]) == 0
    (line,) = said
    assert line.startswith(f"{UNIT}: cannot say why it ended: {why}")


def test_a_name_that_is_no_units_is_a_sentence_too(
    said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "path_of", raising(ValueError("'../x' is no service")))
    assert __main__.main(["died", "../x"]) == 0
    assert "is no service" in said[0]


def test_one_that_is_ended_by_its_units_limit_says_so_and_is_kept(
    said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = 'case "$*" in *--sync* | *MESSAGE_ID*) ;; *) kill -TERM $PPID; exec sleep 9 ;; esac'
    programs.put(tmp_path, monkeypatch, journalctl=slow)
    assert __main__.main(["died", UNIT]) == 0
    assert kept(tmp_path) == ["silent_death"]
    assert "was not judged to the end within" in said[0]


def test_where_its_log_takes_all_memory_that_is_the_verdict(
    said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "diagnose", raising(MemoryError()))
    assert __main__.main(["died", UNIT]) == 0
    assert kept(tmp_path) == ["silent_death"]
    assert "there is no memory left to judge its log" in said[0]


def test_the_journal_takes_each_line_for_the_unit(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(path)
        saying.say(UNIT, ["one", "two\nPRIORITY=0"], path=path)
        first, second = journal.recv(9999).decode(), journal.recv(9999).decode()
    assert first.splitlines() == [
        "MESSAGE=one",
        "PRIORITY=4",
        "SYSLOG_IDENTIFIER=stoker",
        f"OBJECT_SYSTEMD_UNIT={UNIT}",
    ]
    assert second.splitlines()[:2] == ["MESSAGE=two?PRIORITY=0", "PRIORITY=4"]


def test_where_no_journal_is_it_goes_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saying.say(UNIT, ["one", "two"], path=str(tmp_path / "nowhere"))
    assert capsys.readouterr().err.startswith("one\ntwo\n(the journal does not take it: ")
