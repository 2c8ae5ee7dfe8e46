"""Processes that outlive their command, and commands that must be made to end."""

import io
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker.pct import errors, openssh
from stoker.pct.client import Node


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_child_that_keeps_the_output_delays_by_two_seconds_and_pollutes_nothing(
    node: Node,
) -> None:
    began = time.monotonic()
    result = node.run("(sleep 2.6; echo late; sleep 0.2) & echo $!")
    waited = time.monotonic() - began
    child = int(result.stdout)
    assert 1.8 < waited < 2.5
    assert alive(child)  # it was left alone
    while alive(child):
        assert node.run("echo next; sleep 0.05").stdout == b"next\n"
    began = time.monotonic()
    assert node.run("echo last").stdout == b"last\n"
    assert time.monotonic() - began < 1


def test_output_of_a_child_that_ends_within_the_grace_belongs_to_the_command(node: Node) -> None:
    assert node.run("(sleep 0.3; echo late) & echo now").stdout == b"now\nlate\n"
    assert node.run("(sleep 0.3; cat) & echo now", stdin=io.BytesIO(b"x")).stdout == b"now\n"


def test_a_daemon_that_lets_go_of_the_output_costs_no_time(node: Node) -> None:
    began = time.monotonic()
    child = int(node.run("setsid sleep 30 >/dev/null 2>&1 & echo $!").stdout)
    assert time.monotonic() - began < 1
    os.kill(child, 9)


@pytest.mark.parametrize("stdin", [None, b"x"], ids=["kept shell", "own process"])
def test_a_time_limit_kills_the_whole_tree(node: Node, stdin: bytes | None, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    text = f"sleep 60 & echo $! >> {pids}; sh -c 'echo $$ >> {pids}; sleep 61; true'; true"
    began = time.monotonic()
    with pytest.raises(errors.TimedOut, match=r"longer than 0.5 s and was killed"):
        node.run(text, timeout=0.5, stdin=None if stdin is None else io.BytesIO(stdin))
    assert time.monotonic() - began < 2
    assert [pid for pid in map(int, pids.read_text().split()) if alive(pid)] == []
    assert node.run("echo on").stdout == b"on\n"


def test_what_ignores_term_is_killed(node: Node) -> None:
    began = time.monotonic()
    with pytest.raises(errors.TimedOut):
        node.run("trap '' TERM; while :; do sleep 0.1; done", timeout=0.2)
    assert 2 < time.monotonic() - began < 4


def test_a_time_limit_spares_what_an_earlier_command_left_on_purpose(node: Node) -> None:
    child = int(node.run("sleep 30 >/dev/null 2>&1 & echo $!").stdout)
    time.sleep(0.05)
    with pytest.raises(errors.TimedOut):
        node.run("sleep 60", timeout=0.2)
    assert alive(child)
    os.kill(child, 9)


def test_a_timed_out_command_keeps_what_it_had_said(node: Node) -> None:
    said: list[bytes] = []
    with pytest.raises(errors.TimedOut):
        node.run("echo before; sleep 60", timeout=0.3, on_output=lambda _, data: said.append(data))
    assert said[0] == b"before\n"


def test_whoever_stops_waiting_stops_the_command(node: Node) -> None:
    pids: list[int] = []

    def give_up(_: str, data: bytes) -> None:
        pids.append(int(data))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        node.run("sh -c 'echo $$; exec sleep 60'; true", on_output=give_up)
    began = time.monotonic()
    while alive(pids[0]):
        assert time.monotonic() - began < 2
        time.sleep(0.02)


def test_a_command_that_ends_its_shell_is_lost_not_repeated(node: Node, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    with pytest.raises(errors.Lost, match=r"^cannot tell how .* ended"):
        node.run(f"echo x >> {ran}; kill -9 $PPID; sleep 60")
    assert ran.read_text() == "x\n"
    assert node.run("echo on").stdout == b"on\n"


def test_the_end_of_the_client_ends_what_it_runs(tmp_path: Path) -> None:
    node = openssh.local()
    pids = tmp_path / "pids"

    def run() -> None:
        with pytest.raises(errors.Lost):
            node.run(f"sleep 60 & echo $! $$ > {pids}; wait")

    thread = threading.Thread(target=run)
    thread.start()
    while not pids.exists() or not pids.read_text().endswith("\n"):
        time.sleep(0.02)
    node.close()
    thread.join()
    assert [pid for pid in map(int, pids.read_text().split()) if alive(pid)] == []
    assert not alive(node.facts["pid"])
    with pytest.raises(errors.Unreachable, match="nothing was run"):
        node.run("true")


@pytest.fixture
def frozen_folder(tmp_path: Path) -> Iterator[Path]:
    """A file system in which nobody can write and whoever tries cannot be killed."""
    disk, folder = tmp_path / "disk", tmp_path / "frozen"
    folder.mkdir()
    with disk.open("wb") as file:
        file.truncate(32 << 20)
    subprocess.run(["mkfs.ext4", "-q", disk], check=True)
    subprocess.run(["mount", "-o", "loop", disk, folder], check=True)
    subprocess.run(["fsfreeze", "-f", folder], check=True)
    yield folder
    subprocess.run(["fsfreeze", "-u", folder], check=True)
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.sandbox
def test_what_cannot_be_killed_is_named_and_the_agent_goes_on(
    node: Node, frozen_folder: Path
) -> None:
    began = time.monotonic()
    with pytest.raises(errors.TimedOut, match=r"KILL did not end.* \(touch, state D\)"):
        node.run(["touch", str(frozen_folder / "x")], timeout=0.5)
    assert 3 < time.monotonic() - began < 6
    assert node.run("echo on").stdout == b"on\n"
