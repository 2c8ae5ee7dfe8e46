"""A command that goes on to its end even if the run that asked for it does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stoker.operations.container.awaiting import AT_WORK
from stoker.operations.container.node import LASTING

# systemd puts the value of a variable in the place of `${NAME}`, and `$` in that of `$$`, in the
# words of a service; this stand-in for it refuses to be given any.
_RUN = """#!/bin/bash
for word; do case $word in
    *'$'*) echo "a dollar sign: $word" >&2; exit 99 ;;
    --property=StandardOutput=file:*) out=${word#*file:} ;;
    --property=StandardError=file:*) err=${word#*file:} ;;
esac; done
while [ "$1" != -- ]; do shift; done
shift
"$@" >"$out" 2>"$err"
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    program = tmp_path / "systemd-run"
    program.write_text(_RUN)
    program.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def lasting(path: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    script = LASTING.replace("/run/", f"{folder}/")
    return subprocess.run(
        ["bash", "-c", script, "lasting", "200", *words],
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "word",
    ["--description=costs $5, ${HOME}, $$", "two\nlines", 'it\'s "so"', "a  b\\n", "", "ü%h"],
)
def test_every_word_arrives_as_it_is(path: str, tmp_path: Path, word: str) -> None:
    ended = lasting(path, tmp_path, "printf", "[%s]", word)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"[{word}]", "")


def test_code_and_both_outputs_come_back_and_nothing_is_left(path: str, tmp_path: Path) -> None:
    ended = lasting(path, tmp_path, "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (ended.returncode, ended.stdout, ended.stderr) == (7, "out\n", "err\n")
    assert not list(tmp_path.glob("stoker-pct*"))


def test_half_of_its_words_are_not_run(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = LASTING.replace('>"$work/words"', ">/dev/full")
    assert full != LASTING
    monkeypatch.setattr("tests.operations.test_lasting.LASTING", full)
    ended = lasting(path, tmp_path, "echo", "run")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("no room in ")
    assert not list(tmp_path.glob("stoker-pct*"))


@pytest.mark.parametrize(
    ("words", "vmid", "at_work"),
    [
        (["create", "98711", "x"], "98711", True),
        (["snapshot", "98711"], "98711", True),
        (["create", "98711", "x"], "9871", False),
        (["create", "98711", "x"], "8711", False),
        (["enter", "98711"], "98711", False),
    ],
)
def test_work_on_this_container_is_told_from_all_else(
    words: list[str], vmid: str, at_work: bool
) -> None:
    sleeps = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen([*sleeps, "pct", *words]) as other:
        try:
            ended = subprocess.run(["sh", "-c", AT_WORK, "sh", vmid], check=False)
        finally:
            other.kill()
    assert (ended.returncode == 0) is at_work
