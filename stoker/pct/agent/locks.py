"""One lock a container, shared by all runs that change it; the kernel frees it with its holder."""

import fcntl
import json
import os
import time
from typing import Dict

from stoker.pct.agent.checks import Refusal


class Locks:
    """The locks this agent holds, each a file `<vmid>.lock` in `folder` that names its holder."""

    def __init__(self, folder: str = "/run/lock/stoker") -> None:
        self._folder = folder
        self._held: Dict[int, int] = {}

    def take(self, vmid: int, who: str) -> None:
        """Hold the lock of `vmid` until this agent ends; Refusal `busy` if another run does."""
        if vmid in self._held:
            return
        os.makedirs(self._folder, mode=0o755, exist_ok=True)
        path = "%s/%d.lock" % (self._folder, vmid)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refusal("busy", passing=True, **_holder(lock)) from None
        since = time.strftime("%Y-%m-%d %H:%M:%S %Z")
        text = json.dumps({"who": who, "since": since, "pid": os.getpid()})
        os.ftruncate(lock, 0)
        os.pwrite(lock, text.encode(), 0)
        self._held[vmid] = lock

    def any(self) -> bool:
        """Whether any is held."""
        return bool(self._held)


def _holder(lock: int) -> Dict[str, object]:
    unknown = {"who": "an unnamed run", "since": "just now", "pid": 0}
    try:
        return {**unknown, **json.loads(os.pread(lock, 65536, 0))}
    except ValueError:
        return unknown  # its holder has the lock and is about to write its name
    finally:
        os.close(lock)
