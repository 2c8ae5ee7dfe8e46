"""One recovery at a time on a node, and one change at a time of a container; flock, so that a lock
ends with its holder. The container's is the one that a deployment takes."""

from __future__ import annotations

import fcntl
import json
import os
import time
from typing import Iterable

from stoker.recovery.machine import Machine


class Busy(Exception):
    """Somebody else is at it. Says what, who, since when."""


def paths(machine: Machine, vmid: int) -> tuple[str, str]:
    """The node's lock and the container's."""
    return f"{machine.locks}/gpu.lock", f"{machine.locks}/{vmid}.lock"


class Held:
    """Locks, until `free` or the end of the process."""

    def __init__(self, files: Iterable[str], who: str) -> None:
        self._files: list[int] = []
        try:
            for path in files:
                self._files.append(_take(path, who))
        except Busy:
            self.free()
            raise

    def free(self) -> None:
        """Give them up."""
        while self._files:
            os.close(self._files.pop())


def holder(path: str) -> str:
    """Who holds that lock, in words; empty if nobody does."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _named(file)
    finally:
        os.close(file)
    return ""


def _take(path: str, who: str) -> int:
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        named = _named(file)
        os.close(file)
        what = os.path.basename(path)
        raise Busy(f"{what} is held by {named}; wait for it to end, then run again") from None
    since = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    os.ftruncate(file, 0)
    os.pwrite(file, json.dumps({"who": who, "since": since, "pid": os.getpid()}).encode(), 0)
    return file


def _named(file: int) -> str:
    try:
        told = json.loads(os.pread(file, 65536, 0))
        if not os.path.exists(f"/proc/{int(told['pid'])}"):
            return "somebody who does not say who; lslocks tells"
        return f"{told['who']} (process {told['pid']}) since {told['since']}"
    except (ValueError, KeyError, TypeError):
        return "a run that has just begun"
