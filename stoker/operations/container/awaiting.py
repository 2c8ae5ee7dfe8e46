"""Waiting for what an earlier run began on a container, and telling of a long wait."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gevent
from pyinfra.api import OperationError

from stoker.operations.container.node import Way
from stoker.operations.container.planning import CREATING, Plan
from stoker.operations.following import PROGRESS_S, say

LOOK_S = 2
FREE_S = 3600
"""A large template on a slow storage."""
# Proxmox's own name of the process that works on a task, and the command line itself. The brackets
# keep grep from finding its own words.
AT_WORK = r"""
grep -alE -e "^task UPID:[^:]*:[^:]*:[^:]*:[^:]*:vz[a-z]*:$1:" \
    -e "[p]ct.(create|snapshot|delsnapshot).$1([^0-9]|$)" /proc/[0-9]*/cmdline 2>/dev/null |
    grep -qv "^/proc/$$/"
"""


def await_free(way: Way, lock: str) -> None:
    """Until nobody works on it any more; raises OperationError where the lock was left behind."""
    ends = time.monotonic() + FREE_S
    with telling(way.host, f"waiting for the work on CT {way.vmid} that is under way ({lock})"):
        while _at_work(way) and time.monotonic() < ends:
            gevent.sleep(LOOK_S)
    found = way.plan()
    if found.busy:
        raise OperationError(
            f"cannot go on with CT {way.vmid}: it is locked ({lock}) by work that ended in the "
            f"middle, or that nobody here can see; once you know that nobody works on it: "
            f"pct unlock {way.vmid}{_cleared(found)}, then run this again"
        )


def _cleared(found: Plan) -> str:
    """What is left of the work, as commands that take it away."""
    assert found.actual is not None
    if found.actual.lock == CREATING:
        return f" && pct destroy {found.vmid}"
    half = [f"pct delsnapshot {found.vmid} {name} --force" for name in found.actual.unfinished]
    return "".join(f" && {command}" for command in half)


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
