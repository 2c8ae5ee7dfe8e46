"""What a killed script leaves on a node goes with the next one, and nothing else goes."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from stoker.operations.container.node import LASTING
from stoker.operations.driver_scripts import SEND
from stoker.operations.scratch import SCRATCH
from tests.operations.driver_files import program


def made(folder: Path) -> list[str]:
    """The folders that are there after a script has made its own, which it leaves."""
    script = f"{SCRATCH}\nset -euo pipefail\nscratch {folder}/work"
    subprocess.run(["bash", "-c", script], check=True)
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_script_left_goes(tmp_path: Path) -> None:
    (first,) = made(tmp_path)
    (second,) = made(tmp_path)
    assert first != second


def test_what_a_script_still_uses_stays(tmp_path: Path) -> None:
    script = f"{SCRATCH}\nscratch {tmp_path}/work; echo; read -r line"
    words = ["bash", "-c", script]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as user:
        assert user.stdout and user.stdout.readline()
        (used,) = (path.name for path in tmp_path.iterdir())
        assert used in made(tmp_path)
    assert used not in made(tmp_path)


def test_one_without_a_lock_goes_when_it_is_older_than_a_day(tmp_path: Path) -> None:
    old, new = tmp_path / "work.old", tmp_path / "work.new"
    for folder in (old, new):
        folder.mkdir()
    then = time.time() - 90_000
    os.utime(old, (then, then))
    assert new.name in made(tmp_path)
    assert not old.exists()


def test_what_somebody_else_put_there_stays(tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    (away / "alive").touch()
    (tmp_path / "work.link").symlink_to(away)
    (tmp_path / "work.file").touch()
    assert {"away", "work.link", "work.file"} < set(made(tmp_path))
    assert (away / "alive").exists()


@pytest.mark.parametrize(
    ("script", "name"), [(LASTING, "/run/stoker-pct"), (SEND, "/var/tmp/stoker-driver")]
)
def test_both_scripts_take_away_what_is_left_of_them(
    script: str, name: str, tmp_path: Path
) -> None:
    left = tmp_path / f"{Path(name).name}.left"
    left.mkdir()
    (left / "alive").touch()
    here = script.replace(name, f"{tmp_path}/{Path(name).name}")
    program(tmp_path / "bin", "systemd-run", "exit 1")
    words = ["bash", "-c", here, "sh", "200", "1.2", "/new", "none", "x"]
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    subprocess.run(words, env={"PATH": path}, capture_output=True, check=False)
    assert not list(tmp_path.glob("stoker-*"))
