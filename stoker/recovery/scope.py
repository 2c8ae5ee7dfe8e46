"""A run that outlives its caller: in a transient service of its own, followed from outside.

A dropped line or ^C ends the follower alone. Whoever calls again while it runs follows it.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from typing import Any, Iterator, Sequence

from stoker.recovery import commands, files, journal
from stoker.recovery.machine import Machine

APART = (
    "systemd-run",
    "--quiet",
    "--collect",
    "--working-directory=/",
    # A reset that was left behind is not to be ended with us; what we took is to be given back.
    "--property=KillMode=process",
    "--property=TimeoutStopSec=300",
)
BEGIN_S = 20.0
LOOK_S = 0.1


def running(machine: Machine, vmid: int) -> bool:
    """Whether a run for that container is at it: it holds its journal locked."""
    try:
        file = os.open(journal.path(machine, vmid), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def begins(machine: Machine, vmid: int, within_s: float) -> bool:
    """Whether a run that somebody else has just started gets as far as its journal."""
    end = time.monotonic() + within_s
    while not running(machine, vmid):
        if time.monotonic() > end:
            return False
        time.sleep(LOOK_S)
    return True


def start(machine: Machine, vmid: int, words: Sequence[str]) -> str:
    """Start it apart from this process; why it could not be started, or empty."""
    try:
        command = [*program(machine, vmid), *words]
    except OSError as error:
        return f"{error.filename or machine.run}: {error.strerror}; make room there, run it again"
    if not os.path.isdir("/run/systemd/system"):
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        return ""
    unit = f"stoker-recover-{vmid}"
    return commands.read([*APART, f"--unit={unit}", "--", *command], 30).failure


def program(machine: Machine, vmid: int) -> list[str]:
    """The words that run us: from a copy of the file we came in, which may be gone by then."""
    archive = getattr(sys.modules[__name__].__loader__, "archive", "")
    if not archive:
        root = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
        code = f"import sys; sys.path.insert(0, {root!r}); import runpy; "
        code += "runpy.run_module('stoker.recovery', run_name='__main__', alter_sys=True)"
        return [sys.executable, "-I", "-c", code]
    copy = f"{machine.run}/recover-{vmid}.pyz"
    os.makedirs(machine.run, mode=0o755, exist_ok=True)
    with open(archive, "rb") as stream:
        content = stream.read()
    file = os.open(f"{copy}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(file, "wb") as stream:
        stream.write(content)
    os.replace(f"{copy}.new", copy)
    return [sys.executable, "-I", copy]


def follow(machine: Machine, vmid: int, run: str = "") -> Iterator[dict[str, Any]]:
    """The lines of the run as they come, to its end; with `run`, of that one alone.

    The last one has the event `end`. If the run dies without a word, one is made up for it.
    """
    stream = _opened(machine, vmid, run)
    if stream is None:
        yield _died("it did not begin; see: journalctl -u stoker-recover-" + str(vmid))
        return
    with stream:
        rest = ""
        while True:
            alive = running(machine, vmid)
            rest += stream.read()
            *lines, rest = rest.split("\n")
            for line in lines:
                told = json.loads(line)
                yield told
                if told["event"] == "end":
                    return
            if not alive and not lines:
                yield _died("it ended without a word; run it again, it gives back what was left")
                return
            time.sleep(LOOK_S)


def _opened(machine: Machine, vmid: int, run: str) -> Any:
    """Its journal, once it is there."""
    end = time.monotonic() + BEGIN_S
    while time.monotonic() < end:
        first = files.text(journal.path(machine, vmid), 4096).partition("\n")[0]
        if first and (not run or json.loads(first).get("run") == run):
            return open(journal.path(machine, vmid), encoding="utf-8")
        time.sleep(0.02)
    return None


def _died(why: str) -> dict[str, Any]:
    return {
        "time": time.time(),
        "rung": "",
        "event": "end",
        "text": f"cannot follow the run: {why}",
        "code": 1,
        "changed": True,
    }
