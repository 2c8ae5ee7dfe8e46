"""How long it takes to find who holds a GPU on a busy node, on one core: ours and others' ways."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stoker.recovery.machine import Machine
from stoker.recovery.scanning import scan
from stoker.recovery.targets import Targets

from . import busy, ways
from .busy import Crowd
from .rows import Aim, under
from .ways import Way

OURS = "Stoker's scan"
PROCESSES, FILES = 1000, 50
PLAIN, LEADERLESS = 7, 1
_LIMIT_S = 1.0
_TARGETS = Targets(exact={busy.DEVICE: "nvidia0"}, majors={}, gpus={"nvidia0": "GPU-0"})
# What one does without a tool: the paths of all open files.
_LS = "ls -l /proc/[0-9]*/fd 2>/dev/null"


def measured(folder: Path, say: Callable[[str], None]) -> list[Way]:
    """Each way a few times in turn, and the cheapest run of each: others here only add to it."""
    say(f"{PROCESSES} processes with {FILES} files each")
    runs = []
    with busy.crowd(folder, PROCESSES, FILES, PLAIN, LEADERLESS) as crowd, one_core():
        ours, fuser, lsof, listed = _asked(crowd)
        for ask in (ours, fuser, ours, lsof, ours, listed, ours, fuser, ours):
            runs.append(ask())
            say(f"    {runs[-1].name}: {runs[-1].processor_s:.2f} s of processor time")
    return ways.cheapest(runs)


def aim(found: list[Way]) -> Aim:
    """A scan is to take less than a second of one core."""
    ours = next(way for way in found if way.name == OURS)
    what = f"a scan, {PROCESSES} processes with {PROCESSES * FILES} files, one core"
    return under(what, _LIMIT_S, ours.cost, "s")


def _asked(crowd: Crowd) -> list[Callable[[], Way]]:
    """The ways, each of which tells how many of the holders it named."""
    # What lsof tells by -t of a device are pids, as fuser does.
    return [
        lambda: _way(OURS, crowd, lambda: _scanned(crowd)),
        lambda: _way("fuser of one node", crowd, lambda: _pids("fuser", str(crowd.node))),
        lambda: _way("lsof of one node", crowd, lambda: _pids("lsof", "-t", str(crowd.node))),
        lambda: _way("ls -l of all open files", crowd, lambda: _listed(crowd)),
    ]


def _way(name: str, crowd: Crowd, ask: Callable[[], set[int]]) -> Way:
    began, before = time.perf_counter(), sum(os.times()[:4])
    named = ask() & crowd.pids
    seconds, used = time.perf_counter() - began, sum(os.times()[:4]) - before
    wrong = len(named - crowd.holders)
    said = f"{len(named & crowd.holders)} of {len(crowd.holders)} holders"
    return Way(name, seconds, used, f"{said}, {wrong} wrong" if wrong else said)


def _scanned(crowd: Crowd) -> set[int]:
    holders, _ = scan(Machine(), _TARGETS)
    return {holder.pid for holder in holders}


def _pids(*words: str) -> set[int]:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return {int(word) for word in done.stdout.split()}


def _listed(crowd: Crowd) -> set[int]:
    """By the path, which is only right where no container has another name for it."""
    done = subprocess.run(["sh", "-c", _LS], capture_output=True, text=True, check=False)
    pid, named = 0, set()
    for line in done.stdout.splitlines():
        if line.startswith("/proc/"):
            pid = int(line.split("/")[2])
        elif line.endswith(f"-> {crowd.node}"):
            named.add(pid)
    return named


@contextmanager
def one_core() -> Iterator[None]:
    """We and what we start use one core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
