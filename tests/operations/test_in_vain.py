"""A restart that did not help, kept for one life of a container."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker.operations.in_vain import KNOWN, NOTE


@pytest.fixture
def init(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that stands for a container's init, as lxc-info tells of it."""
    with subprocess.Popen(["sleep", "60"]) as process:
        says(tmp_path, f"echo {process.pid}")
        yield process
        process.kill()


def says(folder: Path, line: str) -> None:
    (folder / "lxc-info").write_text(f"#!/bin/sh\n{line}\n")
    (folder / "lxc-info").chmod(0o755)


def code(script: str, folder: Path) -> int:
    words = ["sh", "-c", script, "sh", "200", str(folder / "notes")]
    environment = {"PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(words, env=environment, capture_output=True, check=False).returncode


@pytest.mark.usefixtures("init")
def test_it_is_known_for_as_long_as_the_container_runs(tmp_path: Path) -> None:
    assert code(KNOWN, tmp_path) != 0
    assert code(NOTE, tmp_path) == 0
    assert code(KNOWN, tmp_path) == 0
    says(tmp_path, f"echo {os.getpid()}")
    assert code(KNOWN, tmp_path) != 0


@pytest.mark.usefixtures("init")
def test_of_a_container_that_does_not_run_nothing_is_known(tmp_path: Path) -> None:
    assert code(NOTE, tmp_path) == 0
    says(tmp_path, "exit 1")
    assert code(KNOWN, tmp_path) != 0
