"""The version of NVIDIA's module on disk: Debian's own packages call it nvidia-current."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stoker.facts import driver_libraries, node_settings
from stoker.recovery import driver

_MODINFO = """#!/bin/sh
[ "$3" = nvidia-current ] && echo 550.163.01 || { echo "modinfo: no module $3" >&2; exit 1; }
"""


@pytest.fixture(autouse=True)
def debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A modinfo that knows Debian's module only."""
    (tmp_path / "modinfo").write_text(_MODINFO)
    (tmp_path / "modinfo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def test_of_a_containers_node() -> None:
    assert subprocess.check_output(driver_libraries.INSTALLED, text=True) == "550.163.01\n"


def test_of_a_nodes_settings() -> None:
    words = [sys.executable, "-I", "-S", "-c", node_settings._LOOK, "", ""]
    said: dict[str, Any] = ast.literal_eval(subprocess.check_output(words, text=True))
    assert said["installed"] == "550.163.01"


def test_of_a_node_that_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(words: Any, _: float) -> Any:
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        return SimpleNamespace(code=ran.returncode, out=ran.stdout)

    monkeypatch.setattr(driver.asking, "ask", ask)
    assert driver._installed() == "550.163.01"
