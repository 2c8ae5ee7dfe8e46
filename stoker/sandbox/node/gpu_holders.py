"""Stand-in: which processes really hold the device nodes, as the driver knows its clients.

A process whose main thread has ended can still hold a file, so then every thread's table is read.
Device numbers are compared, never paths: a container's path is not the node's.
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
    """All character devices that the process at /proc/PID has open.

    Threads share one table, which the main thread shows while it lives.
    """
    threads = sorted(entries(os.path.join(process, "task")), key=int)
    for thread in threads:
        table = os.path.join(process, "task", thread, "fd")
        numbers = entries(table)
        if numbers:
            return {device(os.path.join(table, number)) for number in numbers}
    return set()


def mapped_devices(process: str) -> Set[Device]:
    """All character devices that the process has mapped, be their files open or not."""
    try:
        with open(os.path.join(process, "maps"), errors="replace") as stream:
            ranges = [line.split()[0] for line in stream if " /dev/" in line]
    except OSError:
        return set()
    # maps writes at least eight digits, the names in map_files have none to spare.
    names = ["-".join(f"{int(end, 16):x}" for end in one.split("-")) for one in ranges]
    return {device(os.path.join(process, "map_files", name)) for name in names}


def program(process: str) -> str:
    """The program's path as nvidia-smi prints it, `[Not Found]` if it has gone."""
    try:
        with open(os.path.join(process, "cmdline"), "rb") as stream:
            return stream.read().split(b"\0")[0].decode(errors="replace") or "[Not Found]"
    except OSError:
        return "[Not Found]"


def scan(proc: str, nodes: Dict[str, List[int]], maps: bool = False) -> List[Holder]:
    """The holders of any of `nodes`, by process id, without this process itself.

    With `maps` also those that have only mapped one.
    """
    targets = {(major, minor) for major, minor in nodes.values()}
    holders = []
    for pid in sorted(int(name) for name in entries(proc) if name.isdigit()):
        process = os.path.join(proc, str(pid))
        held = open_devices(process) & targets
        if maps:
            held |= mapped_devices(process) & targets
        if held and pid != os.getpid():
            holders.append(Holder(pid, program(process), held))
    return holders


def of_node(proc: str, state: Dict[str, Dict[str, List[int]]]) -> List[Holder]:
    """The holders of the driver's nodes in that state of the GPUs."""
    return scan(proc, state["nodes"], maps="nvidia-modeset" in state["nodes"])
