"""Small real libraries of a driver, and a loader's cache of their own for the scripts to write."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

NAMES = ("libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler")
_BUILT: dict[str, bytes] = {}


def library(name: str) -> bytes:
    """A shared library of that soname, compiled once."""
    if not shutil.which("gcc") or not Path("/sbin/ldconfig").exists():
        pytest.skip("no gcc or no ldconfig")
    if name not in _BUILT:
        words = ["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{name}.so.1", "-x", "c", "-"]
        with tempfile.TemporaryDirectory() as scratch:
            made = Path(scratch, name)
            subprocess.run([*words, "-o", str(made)], input=b"int x;", check=True)
            _BUILT[name] = made.read_bytes()
    return _BUILT[name]


def driver(folder: Path, version: str, names: Sequence[str] = NAMES) -> None:
    """A driver's libraries of that version, with the links that its installer leaves."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"{name}.so.{version}").write_bytes(library(name))
        link = folder / f"{name}.so.1"
        link.unlink(missing_ok=True)
        link.symlink_to(f"{name}.so.{version}")


def program(folder: Path, name: str, text: str) -> None:
    """A program of that name, for a PATH that begins with the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


class Box:
    """A root of its own: the loader's configuration, its cache, and a PATH."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lib, self.home = root / "usr" / "lib", root / "driver"
        self.conf = root / "conf.d" / "00-stoker-driver.conf"
        self.smi = root / "local" / "nvidia-smi"
        self.lib.mkdir(parents=True)
        self.conf.parent.mkdir()
        (self.conf.parent / "10-distribution.conf").write_text(f"{self.lib}\n")
        (root / "ld.so.conf").write_text(f"include {self.conf.parent}/*.conf\n")
        program(
            root / "bin",
            "ldconfig",
            f'exec /sbin/ldconfig -C {root}/cache -f {root}/ld.so.conf "$@" 2>/dev/null',
        )

    def run(self, script: str, *words: str, shell: str = "sh") -> subprocess.CompletedProcess[str]:
        """The script with these words, as it is run in a container."""
        environment = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        return subprocess.run(
            [shell, "-c", script, "sh", *words],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )

    @property
    def words(self) -> tuple[str, ...]:
        """Of the scripts in the container, the version and what comes before it left out."""
        current = self.home / "current"
        return (str(current), str(self.conf), f"{current}/lib", str(self.smi))
