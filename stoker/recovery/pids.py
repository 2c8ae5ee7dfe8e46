"""A container's processes by their numbers on the node, and the numbers they have in it."""

from __future__ import annotations

import os
import re

from stoker.recovery import cgroup, files
from stoker.recovery.machine import Machine

MOST = 4096
# From the reader's own namespace inwards; what a container nests in itself comes after.
_NUMBERS = re.compile(r"^NSpid:\s+\d+\s+(\d+)", re.MULTILINE)


def inside(machine: Machine, vmid: int) -> dict[int, int] | None:
    """On the node -> in the container, of those that live; None: it does not run."""
    top = cgroup.place(machine, vmid)
    if not top:
        return None
    found: dict[int, int] = {}
    for place, _, _ in os.walk(top):
        for pid in files.text(f"{place}/cgroup.procs").split():
            number = _NUMBERS.search(files.text(f"{machine.proc}/{pid}/status"))
            if number and len(found) < MOST:
                found[int(pid)] = int(number[1])
    return found
