"""The script is run here, on devices that every machine has; only root can make nodes of them."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from stoker.container.opened import HUNG, NO_USER, NOT_TRIED, Opened
from stoker.facts import opened_nodes
from stoker.facts.opened_nodes import OpenedNodes, parse, read

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="opens as another user")
NULL = (1, 3)


def node(path: Path, mode: int = 0o666, number: tuple[int, int] = NULL) -> str:
    os.mknod(path, mode | stat.S_IFCHR, os.makedev(*number))
    path.chmod(mode)
    return str(path)


def opened(*paths: str, user: str = "nobody") -> list[Opened]:
    fact = OpenedNodes()
    command = fact.command(user=user, paths=paths).get_raw_value()
    ran = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, check=True, timeout=9
    )
    return list(read(fact.process(ran.stdout.splitlines())))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where nobody can reach too."""
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    return tmp_path


@as_root
def test_a_device_is_opened_by_both(folder: Path) -> None:
    path = node(folder / "nvidia0")
    assert opened(path) == [Opened(path, "device", NULL, "666 root:root")]


@as_root
def test_what_root_can_and_the_user_cannot_is_told_apart(folder: Path) -> None:
    path = node(folder / "nvidia0", 0o660)
    assert opened(path) == [Opened(path, "device", NULL, "660 root:root", user="Permission denied")]


@as_root
def test_a_device_without_a_driver_says_so(folder: Path) -> None:
    path = node(folder / "nvidia0", number=(195, 77))
    (found,) = opened(path)
    assert found.root == found.user != ""


@as_root
def test_a_file_and_nothing_are_told_and_nothing_is_made(folder: Path) -> None:
    (folder / "nvidia0").touch()
    (folder / "caps").mkdir()
    paths = [str(folder / name) for name in ("nvidia0", "caps", "nvidia-uvm")]
    assert opened(*paths) == [
        Opened(paths[0], "file"),
        Opened(paths[1], "other"),
        Opened(paths[2]),
    ]
    assert not (folder / "nvidia-uvm").exists()


@as_root
def test_a_user_who_is_not_there_is_told(folder: Path) -> None:
    path = node(folder / "nvidia0")
    assert opened(path, user="no-such-user") == [
        Opened(path, "device", NULL, "666 root:root", user=NO_USER)
    ]


@as_root
def test_an_open_that_does_not_end_is_left_behind_and_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = opened_nodes._OPEN.replace("said=", 'read -r x <"$path.fifo"\nsaid=')
    monkeypatch.setattr(opened_nodes, "_OPEN", hangs)
    monkeypatch.setattr(opened_nodes, "_PATIENCE_S", 0.2)
    path = node(folder / "nvidia0")
    os.mkfifo(f"{path}.fifo")
    os.chmod(f"{path}.fifo", 0o644)  # noqa: PTH101
    assert opened(path) == [Opened(path, "device", NULL, "666 root:root", user=HUNG)]
    with Path(f"{path}.fifo").open("w") as stream:  # its writer comes, so it ends now
        stream.write("\n")


def test_what_was_not_tried_is_not_taken_for_opened() -> None:
    told = ["is 1:3 666 root:root /dev/x", "device /dev/x"]
    opened_by_none = Opened("/dev/x", "device", NULL, "666 root:root", NOT_TRIED, NOT_TRIED)
    assert parse(told) == [opened_by_none]


def test_nothing_told_is_nothing_known() -> None:
    assert OpenedNodes.default() == []


def test_eight_gpus_that_start_one_after_the_other_have_time_for_that() -> None:
    command = OpenedNodes().command(user="sglang", paths=[f"/dev/nvidia{n}" for n in range(8)])
    assert " sglang 120 /dev/nvidia0 " in command.get_raw_value()
