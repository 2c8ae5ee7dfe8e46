"""Real processes that hold device nodes (tests/standin/holder.c), and a node that has them."""

import json
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from stoker.recovery.machine import Machine
from stoker.recovery.targets import Targets

SOURCE = Path(__file__).parent.parent / "standin/holder.c"

FULL, ZERO, TUN = (1, 7), (1, 5), (10, 200)
"""Devices that open harmlessly and that nobody else has open."""
GPU = "GPU-00000000-0000-0000-0000-000000000000"
TARGETS = Targets(
    exact={FULL: "nvidia0", ZERO: "nvidiactl", TUN: "nvidia-uvm"}, majors={}, gpus={"nvidia0": GPU}
)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="device nodes are made by root only")


@dataclass(frozen=True)
class Held:
    """Processes of one start of the holder."""

    starter: int
    holding: tuple[int, ...]
    zombies: tuple[int, ...]


class Holders:
    """Starts holders of nodes in a folder of its own, and ends them all."""

    def __init__(self, program: Path, folder: Path) -> None:
        self._program = program
        self.folder = folder
        self._started: list[subprocess.Popen[str]] = []
        self._pids: list[int] = []

    def node(self, number: tuple[int, int], name: str = "") -> Path:
        """A device node of that number; an existing one is used again."""
        path = self.folder / (name or f"node-{number[0]}-{number[1]}")
        if not path.exists():
            os.mknod(path, 0o600 | 0o020000, os.makedev(*number))
        return path

    def start(self, *words: object, lines: int = 1) -> Held:
        """A holder with these words, once it has said on `lines` lines who holds."""
        process = subprocess.Popen(
            [self._program, *(str(word) for word in words)], stdout=subprocess.PIPE, text=True
        )
        self._started.append(process)
        assert process.stdout is not None
        said = [process.stdout.readline().split() for _ in range(lines)]
        assert all(said), f"the holder {words} has ended: {process.wait()}"
        found = {
            word: tuple(int(pid) for what, pid in said if what == word)
            for word in ("holding", "zombie")
        }
        self._pids += found["holding"]
        return Held(process.pid, found["holding"], found["zombie"])

    def end(self) -> None:
        """End all of them, those that outlived their starter too."""
        for pid in {*self._pids, *(process.pid for process in self._started)}:
            with_no_such_process_ignored(pid)
        for process in self._started:
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def with_no_such_process_ignored(pid: int) -> None:
    """SIGKILL to a process of ours that may have ended."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def compiled(folder: Path) -> Path:
    """The holder as a program."""
    program = folder / "hold"
    subprocess.run(
        ["gcc", "-static", "-O1", "-pthread", "-o", program, SOURCE], check=True, timeout=60
    )
    return program


@contextmanager
def in_a_folder(program: Path, folder: Path) -> Iterator[Holders]:
    """Holders that are gone afterwards."""
    holders = Holders(program, folder)
    try:
        yield holders
    finally:
        holders.end()


def machine_of(folder: Path, pids: Iterable[int]) -> Machine:
    """A node whose /proc has these real processes only, and whose nodes.json names `TARGETS`."""
    proc = folder / "proc"
    proc.mkdir()
    for name in ("stat", *(str(pid) for pid in pids)):
        (proc / name).symlink_to(f"/proc/{name}")
    kernel = folder / "kernel"
    kernel.mkdir()
    nodes = {name: list(number) for number, name in TARGETS.exact.items()}
    (kernel / "nodes.json").write_text(json.dumps(nodes))
    return Machine(proc=str(proc), driver=str(kernel), stand_in=True)
