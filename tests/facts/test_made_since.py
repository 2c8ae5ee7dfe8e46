"""Which of a node's paths are younger than a container."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from stoker.facts.made_since import made_since


class Here:
    """Runs it here, where the container's init is this process."""

    def __init__(self, folder: Path, says: str = f"echo {os.getpid()}") -> None:
        (folder / "lxc-info").write_text(f"#!/bin/sh\n{says}\n")
        (folder / "lxc-info").chmod(0o755)
        self.path = f"{folder}:{os.environ['PATH']}"

    def run(self, words: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [sys.executable, *words[1:]], env={"PATH": self.path}, capture_output=True, check=False
        )


class Ended:
    """As the connector tells it."""

    def __init__(self, ran: "subprocess.CompletedProcess[bytes]") -> None:
        self.code, self.stdout, self.stderr = ran.returncode, ran.stdout, ran.stderr


def test_a_path_of_before_and_one_of_after(tmp_path: Path) -> None:
    here = Here(tmp_path)
    made = tmp_path / "nvidia0"
    made.touch()
    old = "/bin/sh"
    found = made_since(lambda words: Ended(here.run(words)), 200, [str(made), old, "/absent"])
    assert found == {str(made)}


def test_where_it_is_not_known_all_count(tmp_path: Path) -> None:
    here = Here(tmp_path, "exit 1")
    assert made_since(lambda words: Ended(here.run(words)), 200, ["/bin/sh"]) == {"/bin/sh"}
