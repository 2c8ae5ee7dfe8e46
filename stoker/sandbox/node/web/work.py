"""Stand-in: the process that does a task, or one change that is not a task.

What is to be done comes as JSON on standard input: the sub-command of `pct` and its values. With
`log` it is a task: all output goes there, and its last line is TASK OK, TASK WARNINGS or TASK
ERROR. Without, one JSON line on standard output tells how it ended.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from typing import Any, Dict

from .. import pct
from ..command import Request
from ..died import BadParameters, BadRequest, Died

NAMED = "--named"
DELAY = "/etc/stoker-sandbox/task-delay-s"


def main() -> int:
    """0: what came of it is told elsewhere."""
    text = sys.stdin.read()
    wanted: Dict[str, Any] = json.loads(text)
    if "log" not in wanted:
        return _call(wanted)
    if NAMED not in sys.argv:
        _renamed(text, os.path.basename(wanted["log"]))
    return _task(wanted)


def _renamed(text: str, upid: str) -> None:
    """Be this process again, by the name that a real one gives itself."""
    kept = os.memfd_create("work")
    os.write(kept, text.encode())
    os.lseek(kept, 0, os.SEEK_SET)
    os.dup2(kept, 0)
    words = [f"task {upid}", "-I", os.path.realpath(sys.argv[0]), NAMED]
    os.execv("/proc/self/exe", words)


def _request(wanted: Dict[str, Any]) -> Request:
    values = {name: str(value) for name, value in wanted["values"].items()}
    if "ssh-public-keys" in values:
        # pct takes a file, the API the keys themselves.
        with tempfile.NamedTemporaryFile("w", delete=False, dir="/run") as file:
            file.write(values["ssh-public-keys"] + "\n")
        values["ssh-public-keys"] = file.name
    return Request(int(values.get("vmid", "0")), values, ())


def _task(wanted: Dict[str, Any]) -> int:
    descriptor = os.open(wanted["log"], os.O_WRONLY | os.O_APPEND)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    last = "TASK OK"
    try:
        time.sleep(_delay_s())
        pct.TABLE[wanted["command"]].run(_request(wanted))
    except Died as died:
        last = f"TASK ERROR: {died.text}"
    except Exception as error:
        last = f"TASK ERROR: {error}"
    sys.stdout.flush()
    sys.stderr.flush()
    warnings = _warnings(wanted["log"])
    if last == "TASK OK" and warnings:
        last = f"TASK WARNINGS: {warnings}"
    os.write(descriptor, f"{last}\n".encode())
    return 0


def _delay_s() -> float:
    """Seconds that every task takes before it does anything: 0 unless set."""
    try:
        with open(DELAY) as file:
            return float(file.read())
    except FileNotFoundError:
        return 0.0


def _warnings(log: str) -> int:
    with open(log, errors="replace") as file:
        return sum(line.startswith("WARN: ") for line in file)


def _call(wanted: Dict[str, Any]) -> int:
    outcome: Dict[str, Any] = {}
    # Only the outcome may stand on standard output.
    answer = os.dup(1)
    os.dup2(2, 1)
    try:
        pct.TABLE[wanted["command"]].run(_request(wanted))
    except BadParameters as died:
        outcome = {"errors": died.errors}
    except BadRequest as died:
        outcome = {"status": 400, "message": died.text.partition(" ")[2]}
    except Died as died:
        outcome = {"status": 500, "message": died.text}
    os.write(answer, json.dumps(outcome).encode())
    return 0
