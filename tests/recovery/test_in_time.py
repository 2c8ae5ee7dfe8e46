"""Reads that may block for ever: the rest is still answered, and nothing waits."""

import os
import time
from pathlib import Path

import pytest

from stoker.recovery import asking, files, in_time
from stoker.recovery.in_time import Budget, answers


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_time, "PATIENCE_S", 0.2)


def test_every_key_is_answered() -> None:
    assert answers(lambda key: key * 2, range(1000), Budget(5)) == {n: n * 2 for n in range(1000)}


def test_large_answers_come_whole() -> None:
    assert answers(lambda key: key * 300_000, ["a", "ß"], Budget(5)) == {
        "a": "a" * 300_000,
        "ß": "ß" * 300_000,
    }


def test_nothing_asked_is_nothing_answered() -> None:
    assert answers(files.text, [], Budget(1)) == {}


def test_an_exception_is_no_answer_and_the_next_still_is() -> None:
    assert answers(lambda key: 1 // key, [0, 1], Budget(5)) == {1: 1}


def test_what_blocks_is_given_up_and_the_rest_answered(impatient: None, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "blocks")
    (tmp_path / "after").write_text("after")
    (tmp_path / "before").write_text("before")
    paths = [str(tmp_path / name) for name in ("before", "blocks", "after")]
    began = time.monotonic()
    assert answers(files.text, paths, Budget(5)) == {paths[0]: "before", paths[2]: "after"}
    assert time.monotonic() - began < 2
    assert in_time.children() == frozenset()


def test_a_budget_that_is_used_up_ends_it(impatient: None, tmp_path: Path) -> None:
    paths = [str(tmp_path / str(number)) for number in range(50)]
    for path in paths:
        os.mkfifo(path)
    began = time.monotonic()
    assert answers(files.text, paths, Budget(0.15)) == {}
    assert time.monotonic() - began < 0.5


def test_a_child_that_dies_takes_only_one_answer_along() -> None:
    def work(key: int) -> int:
        if key == 1:
            os.kill(os.getpid(), 9)
        return key

    assert answers(work, range(3), Budget(5)) == {0: 0, 2: 2}


def test_the_child_keeps_no_file_of_its_parent_open(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        told = answers(lambda _: len(os.listdir("/proc/self/fd")), [0], Budget(5))  # noqa: PTH208
        assert lock.writable()
    assert told == {0: 2}  # its pipe, and the directory that it lists


def test_no_child_is_left() -> None:
    before = children()
    answers(lambda key: key, range(3), Budget(5))
    assert children() <= before


def children() -> set[str]:
    """Children of this process, which may have some of other tests, zombies included."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_a_program_that_never_stops_talking_is_ended_at_its_deadline() -> None:
    began = time.monotonic()
    answer = asking.ask(["sh", "-c", "while :; do echo x; done"], 0.2)
    assert answer.code is None
    assert not answer.alive
    assert time.monotonic() - began < 2


def test_a_program_that_could_not_be_written_down_does_not_run_on() -> None:
    pids: list[int] = []

    def full(pid: int) -> None:
        pids.append(pid)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        asking.ask(["sleep", "60"], 1.0, started=full)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)
