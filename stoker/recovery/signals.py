"""A signal to one process, sent only if everything about it still holds at that very moment.

A pid says nothing for sure: between a look and a signal the process may have ended and another one
have got its number, or it may have moved to another cgroup. So the process is pinned by a pidfd
first, checked then, and signalled through that pidfd.
"""

from __future__ import annotations

import errno
import os
import signal
from dataclasses import dataclass
from typing import Callable

from stoker.health import owners
from stoker.health.seen import Holder
from stoker.recovery import files, process
from stoker.recovery.machine import Machine

SENT, GONE = "sent", "gone"
_ENDED = (errno.ESRCH, errno.EINVAL, errno.ENOENT)
"""EINVAL: some kernels say so of a process that was just killed."""


@dataclass(frozen=True)
class Pidfds:
    """The system calls; a test may put its own in their place."""

    open: Callable[[int], int]
    send: Callable[[int, int], None]
    close: Callable[[int], None]


def _open(pid: int) -> int:
    if not hasattr(os, "pidfd_open"):
        raise OSError(errno.ENOSYS, "this Python has no pidfd_open")
    return os.pidfd_open(pid)


def _send(fd: int, number: int) -> None:
    signal.pidfd_send_signal(fd, number)


REAL = Pidfds(_open, _send, os.close)


def send(
    machine: Machine,
    holder: Holder,
    vmid: int,
    number: int,
    holds: Callable[[int], bool],
    pidfds: Pidfds = REAL,
) -> str:
    """`sent`, `gone`, or why it was not sent. `holds` tells whether a pid holds a GPU now."""
    if holder.pid <= 1 or holder.ns_pid == 1:
        return f"process {holder.pid} is an init"
    try:
        fd = pidfds.open(holder.pid)
    except OSError as error:
        return GONE if error.errno in _ENDED else f"process {holder.pid}: {error.strerror}"
    try:
        against = refusal(machine, holder, vmid, holds)
        if against:
            return against
        pidfds.send(fd, number)
    except OSError as error:
        return GONE if error.errno in _ENDED else f"process {holder.pid}: {error.strerror}"
    finally:
        pidfds.close(fd)
    return SENT


def refusal(machine: Machine, holder: Holder, vmid: int, holds: Callable[[int], bool]) -> str:
    """Why this process, pinned by now, must not be signalled; empty: it may be."""
    pid = holder.pid
    try:
        stat = process.parse_stat(files.text(f"{machine.proc}/{pid}/stat"))
    except ValueError:
        return GONE
    if stat.start_ticks != holder.start_ticks:
        return GONE
    if stat.kernel:
        return f"process {pid} is the kernel's"
    owner = owners.owner(files.text(f"{machine.proc}/{pid}/cgroup"))
    if owner.kind != "ct" or owner.vmid != vmid:
        return f"process {pid} now belongs to {owner}"
    if process.parse_pids(files.text(f"{machine.proc}/{pid}/status")) == 1:
        return f"process {pid} is the container's init"
    if not holds(pid):
        return f"process {pid} no longer holds a GPU"
    return ""
