"""Stand-in: which processes really hold the device nodes, as the driver knows its clients.

Every thread's file table is read, since a process whose main thread has ended can still hold a
file. Device numbers are compared, never paths: a container's path is not the node's.
"""

from __future__ import annotations

import os
import stat
from typing import Dict, List, NamedTuple, Set, Tuple

Device = Tuple[int, int]


class Holder(NamedTuple):
    """A process with one of the nodes open, and the numbers of those that it has open."""

    pid: int
    name: str
    devices: Set[Device]


def entries(directory: str) -> List[str]:
    """Names in a directory; none if it has gone or is not ours to read."""
    try:
        return os.listdir(directory)
    except OSError:
        return []


def device(path: str) -> Device:
    """Number of the character device at `path`; (0, 0) for anything else."""
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0)
    if not stat.S_ISCHR(status.st_mode):
        return (0, 0)
    return (os.major(status.st_rdev), os.minor(status.st_rdev))


def open_devices(process: str) -> Set[Device]:
    """All character devices that threads of the process at /proc/PID have open."""
    found: Set[Device] = set()
    for thread in entries(os.path.join(process, "task")):
        table = os.path.join(process, "task", thread, "fd")
        found.update(device(os.path.join(table, number)) for number in entries(table))
    return found


def program(process: str) -> str:
    """The program's path as nvidia-smi prints it, `[Not Found]` if it has gone."""
    try:
        with open(os.path.join(process, "cmdline"), "rb") as stream:
            return stream.read().split(b"\0")[0].decode(errors="replace") or "[Not Found]"
    except OSError:
        return "[Not Found]"


def scan(proc: str, nodes: Dict[str, List[int]]) -> List[Holder]:
    """The holders of any of `nodes`, by process id, without this process itself."""
    targets = {(major, minor) for major, minor in nodes.values()}
    holders = []
    for pid in sorted(int(name) for name in entries(proc) if name.isdigit()):
        process = os.path.join(proc, str(pid))
        held = open_devices(process) & targets
        if held and pid != os.getpid():
            holders.append(Holder(pid, program(process), held))
    return holders
