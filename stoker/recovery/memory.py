"""A container's memory as its cgroup counts it, for version 2 and version 1."""

from __future__ import annotations

import os
import re

from stoker.recovery import files
from stoker.recovery.machine import Machine

_KILLS = re.compile(r"^oom_kill (\d{1,18})$", re.MULTILINE)
_NO_LIMIT = 1 << 62
"""Version 1 has a number near this where there is none."""


def oom_kills(machine: Machine, vmid: int) -> int | None:
    """Processes that the OOM killer ended in it since it started; None: it cannot be read."""
    for root in ("", "/unified"):
        told = _KILLS.search(files.text(f"{machine.cgroup}{root}/lxc/{vmid}/memory.events"))
        if told:
            return int(told[1])
    counted = []
    # Version 1 counts in each group for itself.
    for place, _, _ in os.walk(f"{machine.cgroup}/memory/lxc/{vmid}"):
        told = _KILLS.search(files.text(f"{place}/memory.oom_control"))
        counted += [int(told[1])] if told else []
    return sum(counted) if counted else None


def limit_bytes(machine: Machine, vmid: int) -> int | None:
    """What it may use; None: no limit, or none to be read."""
    paths = (
        f"{machine.cgroup}/lxc/{vmid}/memory.max",
        f"{machine.cgroup}/unified/lxc/{vmid}/memory.max",
        f"{machine.cgroup}/memory/lxc/{vmid}/memory.limit_in_bytes",
    )
    told = next((text for path in paths if (text := files.text(path).strip())), "")
    limit = int(told) if told.isdecimal() else _NO_LIMIT
    return limit if limit < _NO_LIMIT else None
