"""Tasks of a container that wait uninterruptibly: with one that cannot die, stopping hangs."""

from __future__ import annotations

import time

from stoker.health import stuck
from stoker.health.done import Task
from stoker.recovery import cgroups, files, in_time, process, threads
from stoker.recovery.machine import Machine

APART_S = 1.0


def waiting(machine: Machine, vmid: int) -> tuple[Task, ...]:
    """One per process with a thread in state D in two looks, a second apart; none: at once."""
    found = _in_d(machine, list(cgroups.members(machine, f"/lxc/{vmid}")))
    if not found:
        return ()
    time.sleep(APART_S)
    return tuple(_task(machine, pid) for pid in _in_d(machine, found))


def _in_d(machine: Machine, pids: list[int]) -> list[int]:
    return [pid for pid in pids if "D" in _states(machine, pid)]


def _states(machine: Machine, pid: int) -> str:
    """The kernel's letters of its threads; those that have gone left out."""
    letters = []
    for tid in files.names(f"{machine.proc}/{pid}/task"):
        try:
            letters.append(
                process.parse_stat(files.text(f"{machine.proc}/{pid}/task/{tid}/stat")).state
            )
        except ValueError:
            continue
    return "".join(letters)


def _task(machine: Machine, pid: int) -> Task:
    def read(pid: int) -> list[dict[str, object]]:
        return threads.read(machine.proc, pid)

    told = in_time.answers(read, [pid], in_time.Budget(1.0)).get(pid, [])
    at = stuck.classify("S", [stuck.Thread(**fields) for fields in told])
    return Task(pid, files.text(f"{machine.proc}/{pid}/comm").strip(), at.where, at.frame)
