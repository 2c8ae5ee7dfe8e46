"""Files are whole or not there, and never readable to more people than they should be."""

import io
import os
from pathlib import Path

import pytest

from stoker.pct.client import Node, Result
from stoker.pct.files import get_words, put_words


def put(node: Node, path: Path | str, data: bytes, size: int | None = None) -> Result:
    words = put_words(str(path), len(data) if size is None else size)
    return node.run(words, stdin=io.BytesIO(data))


def names(folder: Path) -> list[str]:
    """What is in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", ["plain", "a b", "-n", "q'uo\"te", "$x", "new\nline", "é\n"])
def test_a_file_arrives_under_any_name_with_mode_0600(
    node: Node, tmp_path: Path, name: str
) -> None:
    data = os.urandom(70_000)
    assert put(node, tmp_path / name, data) == Result(0, b"", b"")
    assert (tmp_path / name).read_bytes() == data
    assert (tmp_path / name).stat().st_mode & 0o7777 == 0o600
    assert node.run(get_words(str(tmp_path / name))).stdout == data
    assert names(tmp_path) == [name]


def test_a_replaced_file_keeps_its_mode_and_owner(node: Node, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    os.chown(path, 1234, 4321)
    path.chmod(0o640)
    before = path.stat().st_ino
    assert put(node, path, b"new").code == 0
    now = path.stat()
    assert (now.st_uid, now.st_gid, now.st_mode & 0o7777) == (1234, 4321, 0o640)
    assert now.st_ino != before


def test_a_link_is_followed_and_stays(node: Node, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to(tmp_path / "not-yet")
    put(node, tmp_path / "link", b"new")
    put(node, tmp_path / "dangling", b"made")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "not-yet").read_text() == "made"


def test_what_is_no_file_is_not_replaced(node: Node, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for place in (tmp_path, tmp_path / "fifo", Path("/dev/null")):
        assert put(node, place, b"x") == Result(1, b"", b"it is there and is no regular file\n")
    assert (tmp_path / "fifo").is_fifo()
    assert Path("/dev/null").is_char_device()


def test_a_missing_folder_is_named_as_the_reason(node: Node, tmp_path: Path) -> None:
    assert put(node, tmp_path / "no" / "file", b"x") == Result(1, b"", b"no such folder\n")


def test_half_a_file_is_thrown_away(node: Node, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    result = put(node, path, b"half", size=8)
    assert (result.code, result.stderr) == (1, b"4 of 8 bytes arrived\n")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_file_that_cannot_be_written_to_its_end_leaves_the_old_one(
    node: Node, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("old")
    limited = ["sh", "-c", 'ulimit -f 8; trap "" XFSZ; exec "$@"', "sh"]
    words = put_words(str(tmp_path / "file"), 1 << 20)
    result = node.run([*limited, *words], stdin=io.BytesIO(bytes(1 << 20)))
    assert result.code == 1
    assert b"File too large" in result.stderr
    assert (tmp_path / "file").read_text() == "old"
    assert names(tmp_path) == ["file"]
