"""Writing files so that a reader never sees half of one."""

import os
import shutil
from pathlib import Path

from stoker.refused import Refused


def write_atomically(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """Put `content` at `path` with that mode from the first byte, by rename."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as stream:
        os.fchmod(descriptor, mode)
        stream.write(data)
    temporary.replace(path)


def replace_link(path: Path, target: str) -> None:
    """Make `path` a symbolic link to `target`, whatever it was before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(path)


def mounts_below(directory: Path, mountinfo: str) -> list[str]:
    """Mount points at or below `directory`, innermost first, from a /proc/self/mountinfo."""
    found = [line.split()[4] for line in mountinfo.splitlines()]
    inside = [m for m in found if m == str(directory) or m.startswith(f"{directory}/")]
    return sorted(inside, key=len, reverse=True)


def refuse_mounts(directory: Path) -> None:
    """`Refused` while something is mounted at or below `directory`."""
    mounted = mounts_below(directory, Path("/proc/self/mountinfo").read_text())
    if mounted:
        raise Refused(f"cannot delete {directory}: {mounted[0]} is still mounted; unmount it")


def remove_tree(directory: Path) -> None:
    """Delete a directory of ours; `Refused` while something is mounted in it."""
    refuse_mounts(directory)
    if directory.exists():
        shutil.rmtree(directory)
