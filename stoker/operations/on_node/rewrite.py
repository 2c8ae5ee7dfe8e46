"""Puts another text in place of a container's configuration file, as Proxmox itself writes it.

Its words: VMID SHA1, and the new text by standard input, since it may hold
secrets. SHA1 is that of the text to be replaced. Raw lxc lines can be changed in no other way: no
command of Proxmox and no part of its API takes them.

Exit 0: the file is the new text. Otherwise nothing was changed, and one line says why: 3 it is
another text than was read, 4 it is locked, 5 there is no such container, 6 the cluster has no
quorum, 1 anything else.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import sys
import time
from typing import Iterator

PATIENCE_S = 10.0
"""As long as Proxmox waits for this lock."""
CHANGED, LOCKED, ABSENT, NO_QUORUM, OTHER = 3, 4, 5, 6, 1


class Stop(Exception):  # noqa: N818 - it ends the run
    """Why nothing was changed, and the exit code."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


def main(words: list[str], new: bytes, root: str = "") -> int:
    """The exit code."""
    vmid, digest = int(words[0]), words[1]
    try:
        with lock(f"{root}/run/lock/lxc/pve-config-{vmid}.lock"):
            rewrite(root, vmid, digest, new)
    except Stop as stop:
        print(stop, file=sys.stderr)
        return stop.code
    except PermissionError as error:  # root's only then
        print(f"{error}: the cluster has no quorum; see pvecm status", file=sys.stderr)
        return NO_QUORUM
    except OSError as error:
        print(f"{error}; correct that on the node", file=sys.stderr)
        return OTHER
    return 0


def rewrite(root: str, vmid: int, digest: str, new: bytes) -> None:
    """Under the lock: look again, keep the old text, write."""
    node = os.uname().nodename.split(".")[0]
    path = f"{root}/etc/pve/nodes/{node}/lxc/{vmid}.conf"
    old = read(path)
    if old == new:
        return
    if hashlib.sha1(old).hexdigest() != digest:
        raise Stop(CHANGED, "somebody changed it since it was read; run again")
    main_section = re.split(rb"^\[", old, maxsplit=1, flags=re.MULTILINE)[0]
    held = re.search(rb"^lock: *(\S+)", main_section, re.MULTILINE)
    if held:
        raise Stop(LOCKED, f"it is locked ({held[1].decode()}); wait for that to end")
    if runs(root, vmid):
        raise Stop(OTHER, f"it runs; stop it, or say allow_restart: True: pct shutdown {vmid}")
    keep(f"{root}/var/lib/stoker/migrated", f"{vmid}-{digest}.conf", old)
    put(path, f"{path}.tmp.stoker", new, os.stat(path).st_mode & 0o777)
    if read(path) != new:
        raise Stop(OTHER, f"{path} was written and is another text now; look at it")


def read(path: str) -> bytes:
    """The file."""
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        raise Stop(ABSENT, f"there is no {path}; see which node has it") from None


def runs(root: str, vmid: int) -> bool:
    """As Proxmox tells it."""
    with open(f"{root}/proc/net/unix", encoding="utf-8", errors="replace") as stream:
        return any(line.rstrip().endswith(f"@/var/lib/lxc/{vmid}/command") for line in stream)


def keep(folder: str, name: str, old: bytes) -> None:
    """A copy that only root may read."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    put(f"{folder}/{name}", f"{folder}/.{name}.new", old, 0o600)


def put(path: str, beside: str, data: bytes, mode: int) -> None:
    """The file appears whole. Proxmox's file system has no modes and no fsync of its own."""
    with contextlib.suppress(FileNotFoundError):  # of a run that was killed; we have the lock
        os.unlink(beside)
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            stream.write(data)
            stream.flush()
            with contextlib.suppress(OSError):
                os.fsync(stream.fileno())
        os.rename(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


@contextlib.contextmanager
def lock(path: str) -> Iterator[None]:
    """Proxmox's lock on a container's configuration."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        take(file, path)
        yield
    finally:
        os.close(file)


def take(file: int, path: str) -> None:
    """Within the time that Proxmox waits."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise Stop(LOCKED, f"{path} is held; a command is at work on it") from None
            time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin.buffer.read()))
