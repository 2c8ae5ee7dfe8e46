import subprocess
import sys
from pathlib import Path

import pytest

from stoker.serving.inside import waiting
from stoker.serving.inside.waiting import waited, waits


def test_the_thread_that_waited_longest_counts() -> None:
    before = {"a": 10**9, "b": 0}
    after = {"a": 3 * 10**9, "b": 10**9, "new": 5 * 10**8}
    assert waited(before, after, 4) == 0.5
    assert waited({}, {"a": 9 * 10**9}, 3) == 1.0


def test_what_the_kernel_does_not_count_is_unknown() -> None:
    assert waited({}, {}, 3) is None
    assert waited({"a": 1}, {"a": 1}, 0) is None


def test_a_process_counts_with_all_that_descend_from_it(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import subprocess,sys; subprocess.run(['cat'])"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        while len({path.split("/")[2] for path in waits(process.pid)}) < 2:
            assert process.poll() is None
        process.communicate()


def test_a_hostile_name_and_a_process_that_ends_harm_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "PROC", tmp_path)
    for pid, parent in ((7, 1), (8, 7), (9, 8)):
        (tmp_path / str(pid) / "task" / str(pid)).mkdir(parents=True)
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a) S 1 ) S {parent} 0")
        (tmp_path / str(pid) / "task" / str(pid) / "schedstat").write_text(f"1 {pid} 3\n")
    (tmp_path / "8" / "task" / "8" / "schedstat").unlink()
    (tmp_path / "10").mkdir()
    assert sorted(waits(7).values()) == [7, 9]
