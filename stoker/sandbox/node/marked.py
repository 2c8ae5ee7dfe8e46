"""Finds and ends the processes that `break` started on a node of stand-ins.

They carry a mark in their environment. A program that writes its title over that is known by its
session, whose leader carried it. Nothing is ever found by name.

    python3 -m node.marked list MARK [SESSION:START...]
    python3 -m node.marked kill PID:START...
    python3 -m node.marked end MARK [SESSION:START...] [-- PID:START...]
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Dict, List, NamedTuple, Sequence, Set, Tuple

from . import gpu_holders, gpu_state

NAME = "STOKER_SANDBOX_STUCK"
END_TIMEOUT_S = 10.0
Identity = Tuple[int, int]


class Process(NamedTuple):
    """A process: its pid and start time in ticks name it for good."""

    pid: int
    start: int
    session: int
    state: str
    name: str
    nodes: List[str]
    """Device nodes of GPUs that it has open."""


def fields(pid: int) -> "List[str] | None":
    """Name and the fields of /proc/PID/stat from the state on; None if it has gone."""
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as stream:
            text = stream.read()
    except OSError:
        return None
    head, _, tail = text.rpartition(")")
    return [head.partition("(")[2], *tail.split()]


def has_mark(pid: int, mark: bytes, state: str) -> bool:
    """Whether it shows the mark; where the main thread has ended, another one does."""
    threads = gpu_holders.entries(f"/proc/{pid}/task") if state == "Z" else [str(pid)]
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/environ", "rb") as stream:
                found = stream.read()
        except OSError:
            continue
        if found:
            return mark in found.split(b"\0")
    return False


def find(mark: str, sessions: Sequence[Identity]) -> List[Process]:
    """The marked processes and the members of those sessions."""
    wanted = f"{NAME}={mark}".encode()
    since: Dict[int, int] = dict(sessions)
    names = _node_names()
    found = []
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        told = fields(pid)
        if told is None:
            continue
        session, start = int(told[4]), int(told[20])
        member = session in since and start >= since[session]
        if member or has_mark(pid, wanted, told[1]):
            held = sorted(names[d] for d in gpu_holders.open_devices(f"/proc/{pid}") & set(names))
            found.append(Process(pid, start, session, told[1], told[0], held))
    return found


def _node_names() -> Dict[Tuple[int, int], str]:
    nodes = gpu_state.load(gpu_state.DIRECTORY)["nodes"]
    return {(major, minor): name for name, (major, minor) in nodes.items()}


def kill(pid: int, start: int) -> None:
    """SIGKILL that very process, if it is still there."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return
    try:
        told = fields(pid)
        if told and int(told[20]) == start:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        os.close(descriptor)


def _alive(process: Identity) -> bool:
    told = fields(process[0])
    return told is not None and int(told[20]) == process[1] and not _is_dead(process[0], told)


def _is_dead(pid: int, told: List[str]) -> bool:
    """A zombie without a living thread holds nothing and waits only for its parent."""
    return told[1] in "ZX" and len(gpu_holders.entries(f"/proc/{pid}/task")) <= 1


def end(mark: str, sessions: Sequence[Identity], known: Sequence[Identity]) -> List[Process]:
    """End them all; those that are still there after the time-out are given back."""
    deadline = time.monotonic() + END_TIMEOUT_S
    while True:
        left = [one for one in find(mark, sessions) if _alive((one.pid, one.start))]
        targets: Set[Identity] = {(one.pid, one.start) for one in left}
        targets |= {one for one in known if _alive(one)}
        if not targets or time.monotonic() > deadline:
            return left
        for pid, start in targets:
            kill(pid, start)
        time.sleep(0.05)


def _identity(word: str) -> Identity:
    pid, _, start = word.partition(":")
    return int(pid), int(start)


def main(words: Sequence[str]) -> int:
    """Do what the first word says; what was found or left goes to stdout as JSON."""
    verb, rest = words[0], list(words[1:])
    if verb == "kill":
        for word in rest:
            kill(*_identity(word))
        return 0
    mark, *others = rest
    cut = others.index("--") if "--" in others else len(others)
    sessions = [_identity(word) for word in others[:cut]]
    known = [_identity(word) for word in others[cut + 1 :]]
    found = find(mark, sessions) if verb == "list" else end(mark, sessions, known)
    print(json.dumps([one._asdict() for one in found]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
