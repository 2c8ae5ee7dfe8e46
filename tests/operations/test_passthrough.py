import fcntl
import hashlib
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from stoker.operations import passthrough
from stoker.operations.on_node import rewrite
from stoker.pct.client import Result
from stoker.proxmox import errors

OLD = "arch: amd64\nhostname: gpu-a\nlxc.cgroup2.devices.allow: c 509:* rwm\n"
NEW = "arch: amd64\nhostname: gpu-a\ndev0: /dev/nvidia0,mode=0666\n"
DIGEST = hashlib.sha1(OLD.encode()).hexdigest()


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The root of a node with CT 200, stopped."""
    name = os.uname().nodename.split(".")[0]
    for folder in (f"etc/pve/nodes/{name}/lxc", "proc/net", "run/lock/lxc", "var/lib/stoker"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "proc/net/unix").write_text("Num\n0: 2 0 0 1 1 7 @/var/lib/lxc/201/command\n")
    conf(tmp_path).write_text(OLD)
    conf(tmp_path).chmod(0o640)
    return tmp_path


def conf(root: Path) -> Path:
    name = os.uname().nodename.split(".")[0]
    return root / f"etc/pve/nodes/{name}/lxc/200.conf"


def rewritten(root: Path, digest: str = DIGEST) -> int:
    return rewrite.main(["200", digest], NEW.encode(), str(root))


def test_the_file_is_replaced_and_the_old_text_is_kept_for_root_alone(node: Path) -> None:
    assert rewritten(node) == 0
    assert conf(node).read_text() == NEW
    assert stat.S_IMODE(conf(node).stat().st_mode) == 0o640
    kept = node / f"var/lib/stoker/migrated/200-{DIGEST}.conf"
    assert kept.read_text() == OLD
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert [path.name for path in conf(node).parent.iterdir()] == ["200.conf"]


def test_without_a_quorum_nothing_is_written(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def denied(path: str, beside: str, data: bytes, mode: int) -> None:
        if "/etc/pve/" in path:
            raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(rewrite, "put", denied)
    assert rewritten(node) == rewrite.NO_QUORUM
    assert "200.conf': the cluster has no quorum; see pvecm" in capsys.readouterr().err


def test_a_second_time_nothing_is_done(node: Path) -> None:
    rewritten(node)
    before = conf(node).stat().st_ino
    assert rewritten(node) == 0
    assert conf(node).stat().st_ino == before


def test_a_text_that_changed_meanwhile_is_left(
    node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf(node).write_text(OLD + "cores: 4\n")
    assert rewritten(node) == rewrite.CHANGED
    assert capsys.readouterr().err == "somebody changed it since it was read; run again\n"
    assert conf(node).read_text() == OLD + "cores: 4\n"


def test_a_container_that_proxmox_locked_is_left(node: Path) -> None:
    text = "lock: backup\n" + OLD
    conf(node).write_text(text)
    assert rewritten(node, digest=hashlib.sha1(text.encode()).hexdigest()) == rewrite.LOCKED


def test_a_lock_of_a_snapshots_section_is_none(node: Path) -> None:
    text = OLD + "\n[before]\nlock: backup\n"
    conf(node).write_text(text)
    assert rewritten(node, digest=hashlib.sha1(text.encode()).hexdigest()) == 0


def test_a_container_that_runs_is_left(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (node / "proc/net/unix").write_text("0: 2 0 0 1 1 7 @/var/lib/lxc/200/command\n")
    assert rewritten(node) == rewrite.OTHER
    assert "it runs; stop it, or say allow_restart: True" in capsys.readouterr().err
    assert conf(node).read_text() == OLD


def test_a_lock_file_that_is_held_is_waited_for_and_told(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rewrite, "PATIENCE_S", 0.0)
    with (node / "run/lock/lxc/pve-config-200.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert rewritten(node) == rewrite.LOCKED
    assert "pve-config-200.lock is held; a command is at work on it" in capsys.readouterr().err
    assert rewritten(node) == 0


def test_a_container_of_another_node_is_told(node: Path) -> None:
    conf(node).unlink()
    assert rewritten(node) == rewrite.ABSENT


def test_a_run_that_dies_while_it_writes_leaves_the_old_file_whole(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(rewrite.os, "rename", die)
    assert rewritten(node) == rewrite.OTHER
    assert conf(node).read_text() == OLD
    assert [path.name for path in conf(node).parent.iterdir()] == ["200.conf"]


def test_what_a_killed_run_left_is_in_nobodys_way(node: Path) -> None:
    folder = node / "var/lib/stoker/migrated"
    folder.mkdir(mode=0o700)
    (folder / f".200-{DIGEST}.conf.new").write_text("ha")
    conf(node).with_name("200.conf.tmp.stoker").write_text("ha")
    assert rewritten(node) == 0
    assert conf(node).read_text() == NEW
    assert [path.name for path in conf(node).parent.iterdir()] == ["200.conf"]
    assert [path.read_text() for path in folder.iterdir()] == [OLD]


class Node:
    """What runs words on a node, and answers as told."""

    name = "pve1"

    def __init__(self, code: int = 0, stderr: bytes = b"") -> None:
        self.answer = Result(code, b"", stderr)
        self.asked: list[Any] = []

    def run(self, command: Any, *, stdin: Any, timeout: float) -> Result:
        self.asked.append((command, stdin.read()))
        return self.answer


def test_the_text_travels_by_standard_input_since_it_may_hold_secrets() -> None:
    node = Node()
    passthrough.migrated(node, 200, OLD, NEW)  # type: ignore[arg-type]
    ((command, stdin),) = node.asked
    assert command[-2:] == ["200", DIGEST]
    assert stdin == NEW.encode()
    assert not [word for word in command if "nvidia0" in word]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (3, errors.Changed),
        (4, errors.Locked),
        (5, errors.NoSuchContainer),
        (1, errors.ProxmoxError),
    ],
)
def test_why_nothing_was_changed_is_one_of_proxmoxs_errors(
    code: int, kind: type[errors.ProxmoxError]
) -> None:
    node = Node(code, b"it is locked (backup); wait for that to end\n")
    with pytest.raises(kind) as error:
        passthrough.migrated(node, 200, OLD, NEW)  # type: ignore[arg-type]
    assert str(error.value) == (
        "cannot replace the raw lines of CT 200 on pve1: it is locked (backup); wait for that to "
        "end"
    )


def test_a_file_that_is_no_utf8_is_the_same_file_on_the_way_back() -> None:
    node, data = Node(), b"#caf\xe9\r\ncores: 2\r\n"
    text = data.decode("utf-8", "surrogateescape")
    passthrough.migrated(node, 200, text, text + "dev0: /dev/nvidia0\n")  # type: ignore[arg-type]
    ((command, stdin),) = node.asked
    assert command[-1] == hashlib.sha1(data).hexdigest()
    assert stdin == data + b"dev0: /dev/nvidia0\n"
