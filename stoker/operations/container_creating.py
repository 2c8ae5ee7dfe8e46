"""Making a container, and waiting for one that an earlier run began to make."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gevent
from pyinfra.api import OperationError

from stoker.operations.container_node import Way
from stoker.operations.following import PROGRESS_S, say

LOOK_S = 2
MADE_S = 3600
"""A large template on a slow storage."""
# Proxmox's own name of the process that works on a task, and the command line itself. The brackets
# keep grep from finding its own words.
AT_WORK = r"""
grep -alE "^task UPID:[^:]*:[^:]*:[^:]*:[^:]*:vz[a-z]*:$1:|[p]ct.create.$1([^0-9]|$)" \
    /proc/[0-9]*/cmdline 2>/dev/null | grep -qv "^/proc/$$/"
"""


def await_made(way: Way) -> None:
    """Until nobody works on its creation any more; raises OperationError where it was left in the
    middle."""
    ends = time.monotonic() + MADE_S
    with telling(way.host, f"waiting for the creation of CT {way.vmid} that is under way"):
        while _at_work(way) and time.monotonic() < ends:
            gevent.sleep(LOOK_S)
    if way.plan().being_made:
        raise OperationError(
            f"cannot go on with CT {way.vmid}: its creation ended in the middle, or is one that "
            f"nobody here can see; once you know that nobody works on it: pct unlock {way.vmid} "
            f"&& pct destroy {way.vmid}, then run this again"
        )


def _at_work(way: Way) -> bool:
    return way.run(["sh", "-c", AT_WORK, "sh", str(way.vmid)], 30).code == 0


@contextmanager
def telling(host: Any, what: str) -> Iterator[None]:
    """Say it, and again with the seconds gone by for as long as the block takes."""
    began = time.monotonic()
    say(host, what)

    def go_on() -> None:
        while True:
            gevent.sleep(PROGRESS_S)
            say(host, f"{what}: {time.monotonic() - began:.0f} s")

    teller = gevent.spawn(go_on)
    try:
        yield
    finally:
        teller.kill(block=False)
