"""Processes of this machine, as /proc tells them, and their end by TERM, then KILL."""

import os
import signal
import time
from typing import Callable, Dict, Iterable, List, NamedTuple

from stoker.pct.agent.loop import Loop

TERM_GRACE_S = 2.0  # what a command has for cleaning up before KILL
KILL_GRACE_S = 1.5  # what the kernel has for ending it before it is called unkillable
LOOK_S = 0.05


class Process(NamedTuple):
    """One row of the process table; `started` is in clock ticks since boot."""

    pid: int
    name: str
    state: str
    parent: int
    session: int
    started: int


def read(pid: int) -> "Process | None":
    """The row of `pid`, None if there is no such process (source: /proc/PID/stat)."""
    try:
        with open("/proc/%d/stat" % pid, errors="replace") as stat:
            text = stat.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
    return Process(pid, name, rest[0], int(rest[1]), int(rest[3]), int(rest[19]))


def table() -> Dict[int, Process]:
    """Every process that lives; ended ones that wait for their parent are left out."""
    rows = (read(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {row.pid: row for row in rows if row is not None and row.state not in "ZX"}


def now_ticks() -> int:
    """The present as `Process.started` counts it."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


class Family:
    """The processes that come from one program we started (in a session of its own).

    `spared` generations from the top are ours, not the command's: 0 spares nobody, 1 the program
    itself, 2 its children too.
    """

    def __init__(self, pid: int, spared: int) -> None:
        self._pid, self._spared = pid, spared
        top = read(pid)
        self._started = top.started if top is not None else -1

    def since(self, ticks: int) -> List[Process]:
        """Descendants, and members of its session that began at `ticks` or later."""
        rows = table()
        top = rows.get(self._pid)
        if top is not None and top.started != self._started:
            return []  # all have ended, and the number was given away
        found: Dict[int, Process] = {
            row.pid: row
            for row in rows.values()
            if row.session == self._pid and row.started >= ticks and row.pid != self._pid
        }
        generation = [top] if top is not None else []
        depth = 0
        while generation:
            for row in generation:
                if depth >= self._spared:
                    found[row.pid] = row
                else:
                    found.pop(row.pid, None)
            parents = {row.pid for row in generation}
            generation = [row for row in rows.values() if row.parent in parents]
            depth += 1
        return list(found.values())


def signal_all(processes: Iterable[Process], number: int) -> None:
    """Send a signal to exactly these processes: never to one that took over the number."""
    for process in processes:
        try:
            pidfd: int = os.pidfd_open(process.pid)  # type: ignore[attr-defined,unused-ignore]
        except ProcessLookupError:
            continue
        try:
            now = read(process.pid)
            if now is not None and now.started == process.started:
                signal.pidfd_send_signal(pidfd, number)  # type: ignore[attr-defined,unused-ignore]
        except ProcessLookupError:
            pass  # it ended by itself, which is what was wanted
        finally:
            os.close(pidfd)


class Ending:
    """Ends what `members` names: TERM, a grace, KILL, a grace, then `done(those left)`."""

    def __init__(
        self,
        loop: Loop,
        members: Callable[[], List[Process]],
        done: Callable[[List[Process]], None],
    ) -> None:
        self._loop, self._members, self._done = loop, members, done
        self._began = time.monotonic()
        self._killed = False
        signal_all(members(), signal.SIGTERM)
        loop.later(LOOK_S, self._look)

    def _look(self) -> None:
        left = self._members()
        waited = time.monotonic() - self._began
        if not left or waited > TERM_GRACE_S + KILL_GRACE_S:
            self._done(left)
            return
        if waited > TERM_GRACE_S:
            signal_all(left, signal.SIGKILL)
        self._loop.later(LOOK_S, self._look)
