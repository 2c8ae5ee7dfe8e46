"""Processes that SIGKILL does not end, made for a moment by freezing a small disk of our own."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker.health.seen import Holder
from stoker.recovery.scanning import scan

from .holding import FULL, Holders, machine_of, needs_root

pytestmark = [needs_root, pytest.mark.sandbox]

LIMIT_S = 20.0


class Disk:
    """A mounted file system that can be frozen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def freeze(self) -> None:
        subprocess.run(["fsfreeze", "-f", self.folder], check=True)

    def thaw(self) -> None:
        subprocess.run(["fsfreeze", "-u", self.folder], check=False, stderr=subprocess.DEVNULL)


@pytest.fixture
def disk(tmp_path: Path, holders: Holders) -> Iterator[Disk]:
    """Thawed and gone afterwards, and before it the processes that write to it."""
    image, folder = tmp_path / "image", tmp_path / "disk"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(16 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, folder], check=True)
    frozen = Disk(folder)
    try:
        yield frozen
    finally:
        frozen.thaw()
        holders.end()
        subprocess.run(["umount", folder], check=True)


def waiting(folder: Path, pid: int, kind: str) -> Holder:
    """The holder, once the scan finds it in that state."""
    machine = machine_of(folder, [pid])
    end = time.monotonic() + LIMIT_S
    while True:
        (holder,), _ = scan(machine)
        if holder.stuck.kind == kind and holder.stuck.where:
            return holder
        assert time.monotonic() < end, holder
        time.sleep(0.05)


def ended(pid: int) -> bool:
    """Whether a child of ours has ended; gevent, where it is loaded, reaps it at once."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.scenario("S7")
def test_a_process_that_outlives_sigkill_is_unkillable(
    tmp_path: Path, disk: Disk, holders: Holders
) -> None:
    held = holders.start(holders.node(FULL), "--write", disk.folder / "file")
    disk.freeze()
    os.kill(held.starter, signal.SIGKILL)
    holder = waiting(tmp_path, held.starter, "unkillable")
    assert holder.evidence == ("fd",)
    assert holder.stuck.where == "frozen-fs"
    disk.thaw()
    end = time.monotonic() + LIMIT_S
    while not ended(held.starter):
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.scenario("S4")
def test_a_stuck_thread_whose_main_thread_has_ended_is_told_with_its_place(
    tmp_path: Path, disk: Disk, holders: Holders
) -> None:
    words = (holders.node(FULL), "--zombie-leader", "--write", disk.folder / "file")
    held = holders.start(*words)
    disk.freeze()
    holder = waiting(tmp_path, held.starter, "zombie-leader")
    assert (holder.state, holder.threads, holder.evidence) == ("Z", 2, ("fd",))
    assert holder.stuck.where == "frozen-fs"
    assert "percpu" in holder.stuck.frame
