"""Whose process it is that a line of the node's kernel names, by what a container's half knows.

The kernel counts the node's processes, a log those of its container: the two are never compared but
through the map of those that live. Who is not in it is dead or another's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from stoker.health.crash.death import Death, HostSide
from stoker.health.kernel_log import Message

OURS, LIKELY, UNKNOWN, THEIRS = "ours", "likely", "unknown", "theirs"
_MEMCG = re.compile(r"\b(?:oom|task)_memcg=(/[^,]{0,300})")
_TASK_MEMCG = re.compile(r"\btask_memcg=(/[^,]{0,300})")
_PID = re.compile(r",pid=(\d{1,10})")
_LXC = re.compile(r"/lxc(?:\.payload)?[/.](\d{1,9})(?:/| |$)")
_SERVICE = re.compile(r"/([^/]{1,256}\.service)(?=/|$)")
_SERVER = re.compile(r"sglang|python|pt_|uvicorn|launch|llm|ray|scheduler|cuda|nccl", re.IGNORECASE)


def chosen(lines: Iterable[Message]) -> dict[str, str]:
    """PID that the OOM killer chose -> the line that says of which cgroup it was."""
    found = {}
    for line in lines:
        pid = _PID.search(line.text) if line.text.startswith("oom-kill:") else None
        if pid:
            found[pid[1]] = line.text
    return found


def inside(pid: str, host: HostSide) -> int | None:
    """Its number in the container; None: it does not live there, or nobody looked."""
    return (host.pids or {}).get(int(pid)) if pid else None


def killed(pid: str, host: HostSide, death: Death | None, said: dict[str, str]) -> str:
    """Of a victim of the OOM killer; `said`: of `chosen`."""
    if inside(pid, host) is not None:
        return OURS
    paths = _MEMCG.findall(said.get(pid, ""))
    if paths:
        return OURS if str(host.vmid) in _LXC.findall(" ".join(paths)) else THEIRS
    counted = death.oom_kills if death else None
    if host.oom_kills == 0 or counted == 0:
        return THEIRS
    return LIKELY if counted else UNKNOWN


def service(pid: str, said: dict[str, str]) -> str:
    """The service in whose cgroup the OOM killer's victim was; empty: the kernel names none."""
    path = _TASK_MEMCG.search(said.get(pid, ""))
    found = _SERVICE.findall(path[1].replace(r"\x5c", "\\")) if path else []
    return found[-1] if found else ""


def faulted(pid: str, name: str, host: HostSide) -> str:
    """Of a process that faulted; its GPU may be another container's too."""
    if inside(pid, host) is not None:
        return OURS
    if name and not name.startswith("<"):
        return LIKELY if _SERVER.match(name) else THEIRS
    return UNKNOWN
