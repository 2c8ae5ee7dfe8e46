"""A container's cgroups (version 2): who is in them, killing one whole, whether one is frozen."""

from __future__ import annotations

import os
import re
import signal
import time
from typing import Iterator

from stoker.health import owners, unit_text
from stoker.recovery import cgroup, files
from stoker.recovery.machine import Machine

_UNIT = re.compile(r"/lxc/(?P<vmid>[1-9][0-9]*)/.*\.(?:service|scope)")
FREEZE_S = 5.0


def folder(machine: Machine, path: str) -> str:
    """Where the cgroup of that /proc/<pid>/cgroup path is; beside version 1 it lies deeper."""
    deeper = f"{machine.cgroup}/unified{path}"
    return deeper if os.path.isdir(deeper) else f"{machine.cgroup}{path}"


def members(machine: Machine, path: str) -> Iterator[int]:
    """Every process in it and below: cgroup.procs alone leaves out what lies deeper."""
    for place, _, _ in os.walk(folder(machine, path)):
        yield from (int(pid) for pid in files.text(f"{place}/cgroup.procs").split())


def frozen(machine: Machine, vmid: int) -> bool:
    """Whether the whole container is frozen: a command sent into it would hang."""
    return cgroup.seen(machine, vmid).state == "frozen"


def there(machine: Machine, vmid: int) -> bool:
    """Whether the container has a cgroup with processes."""
    return cgroup.seen(machine, vmid).state != "stopped"


def is_of(path: str, vmid: int) -> bool:
    """Whether it is the cgroup of a unit inside that container, and not a way out of it."""
    found = _UNIT.fullmatch(path)
    return found is not None and int(found["vmid"]) == vmid and ".." not in path.split("/")


def can_kill(machine: Machine, path: str) -> bool:
    """Whether the kernel can kill a cgroup whole (from 5.14 on)."""
    return os.path.exists(f"{folder(machine, path)}/cgroup.kill")


def kill(machine: Machine, path: str, vmid: int) -> str:
    """SIGKILL to all of it at once; why not, or empty. Where the kernel cannot, it is frozen
    meanwhile, so that nothing in it can fork away."""
    if not is_of(path, vmid):
        return f"{path} is no unit's cgroup in CT {vmid}"
    place = folder(machine, path)
    try:
        if can_kill(machine, path):
            _write(f"{place}/cgroup.kill", "1")
        elif os.path.isdir(place):
            _kill_frozen(machine, path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""


def _kill_frozen(machine: Machine, path: str) -> None:
    place = folder(machine, path)
    try:
        _write(f"{place}/cgroup.freeze", "1")
        end = time.monotonic() + FREEZE_S
        while "frozen 1" not in files.text(f"{place}/cgroup.events") and time.monotonic() < end:
            time.sleep(0.02)
        for pid in list(members(machine, path)):
            _kill_member(machine, path, pid)
    finally:
        thaw(machine, path)


def _kill_member(machine: Machine, path: str, pid: int) -> None:
    """SIGKILL to a process if it is, pinned by a pidfd, still in that cgroup."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return
    try:
        owner = owners.owner(files.text(f"{machine.proc}/{pid}/cgroup"))
        if owner.cgroup == path or owner.cgroup.startswith(f"{path}/"):
            signal.pidfd_send_signal(fd, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        os.close(fd)


def thaw(machine: Machine, path: str) -> None:
    """Let it run again, if it is there."""
    if os.path.isdir(folder(machine, path)):
        _write(f"{folder(machine, path)}/cgroup.freeze", "0")


def _write(path: str, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def servers(machine: Machine, vmid: int) -> tuple[str, ...]:
    """Names of our units that have a cgroup in the container, for when its systemd is silent."""
    top = folder(machine, f"/lxc/{vmid}/ns/system.slice")
    names = [*files.names(top), *files.names(f"{top}/system-sglang.slice")]
    return tuple(name for name in names if unit_text.ours(name))
