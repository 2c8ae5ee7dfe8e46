"""A command that goes on to its end even if the run that asked for it does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stoker.operations.container_awaiting import AT_WORK
from stoker.operations.container_node import LASTING

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


def test_a_creation_of_another_number_is_not_taken_for_this_one() -> None:
    words = [sys.executable, "-c", "import time; time.sleep(60)", "pct", "create", "98711", "x"]
    with subprocess.Popen(words) as other:
        try:
            assert [at_work(vmid) for vmid in ("98711", "9871", "8711")] == [True, False, False]
        finally:
            other.kill()


def at_work(vmid: str) -> bool:
    return subprocess.run(["sh", "-c", AT_WORK, "sh", vmid], check=False).returncode == 0
