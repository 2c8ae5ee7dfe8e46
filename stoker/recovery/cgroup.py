"""What the kernel has of a container: its state and its first process."""

from __future__ import annotations

import os
from dataclasses import dataclass

from stoker.recovery import files, process
from stoker.recovery.machine import Machine

# Where a hierarchy with Proxmox's `lxc/<vmid>` may lie: version 2, hybrid, version 1.
_ROOTS = ("", "/unified", "/systemd", "/pids")


@dataclass(frozen=True)
class Group:
    """A container's cgroup."""

    state: str
    """`running`, `stopped` or `frozen`. One that cannot die is running."""
    init_pid: int | None
    """On the node."""


def seen(machine: Machine, vmid: int) -> Group:
    """The group of that container; one that has none is stopped."""
    folder = place(machine, vmid)
    if not folder:
        return Group("stopped", None)
    return Group("frozen" if _frozen(folder) else "running", _init(machine, folder))


def place(machine: Machine, vmid: int) -> str:
    """The folder of that container's group with its processes; empty: it has none."""
    folders = (f"{machine.cgroup}{root}/lxc/{vmid}" for root in _ROOTS)
    return next((one for one in folders if os.path.isdir(one) and _populated(one)), "")


def _populated(folder: str) -> bool:
    events = files.text(f"{folder}/cgroup.events")
    return "populated 1" in events if events else bool(_pids(folder) or _pids(f"{folder}/ns"))


def _frozen(folder: str) -> bool:
    """As soon as it is wished: commands in it hang from then on."""
    return (
        "frozen 1" in files.text(f"{folder}/ns/cgroup.events")
        or files.text(f"{folder}/cgroup.freeze").startswith("1")
        or files.text(f"{folder}/ns/cgroup.freeze").startswith("1")
    )


def _init(machine: Machine, folder: str) -> int | None:
    """The process that is number 1 in there; a number may be a small one and yet a late one."""
    for group in ("/ns/init.scope", "/ns", ""):
        for pid in _pids(folder + group):
            if process.parse_pids(files.text(f"{machine.proc}/{pid}/status")) == 1:
                return pid
    return None


def _pids(folder: str) -> list[int]:
    told = files.text(f"{folder}/cgroup.procs").split()
    return sorted(int(pid) for pid in told if pid.isdecimal() and pid != "0")
