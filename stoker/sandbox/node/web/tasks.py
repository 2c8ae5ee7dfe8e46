"""Stand-in: tasks: a process each, its log, and how it ended, in files as on a real node."""

from __future__ import annotations

import glob
import json
import os
import re
import subprocess
import sys
import threading
import time
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .. import store
from . import problem

LOGS = "/var/log/pve/tasks"
WORKER = [sys.executable, "-I", "/usr/lib/stoker-sandbox/worker.py"]
_UPID = re.compile(
    r"UPID:([^:\s]+):([0-9A-F]{8}):([0-9A-F]{8,9}):([0-9A-F]{8}):([^:\s]+):([^:\s]*):([^:\s]+):"
)


class Task(NamedTuple):
    """What a UPID says."""

    upid: str
    node: str
    pid: int
    pstart: int
    starttime: int
    type: str
    id: str
    user: str


def parse(upid: str) -> Task:
    """The task of that UPID; 400 where it is none."""
    match = _UPID.fullmatch(upid)
    if not match:
        raise problem.bad({"upid": "unable to parse worker upid"})
    node, pid, pstart, start, kind, subject, user = match.groups()
    return Task(upid, node, int(pid, 16), int(pstart, 16), int(start, 16), kind, subject, user)


def log_file(upid: str) -> str:
    """Where a task's output lies; the folder is the last digit of its start, as on a real node."""
    return f"{LOGS}/{upid.split(':')[4][-1]}/{upid}"


def begun(kind: str, subject: str, user: str, work: Mapping[str, Any]) -> str:
    """Start a process that does this work; the UPID. How it ends stands in its log."""
    process = subprocess.Popen(WORKER, stdin=subprocess.PIPE, start_new_session=True)
    upid = (
        f"UPID:{store.node_name()}:{process.pid:08X}:{_start_ticks(process.pid) or 0:08X}:"
        f"{int(time.time()):08X}:{kind}:{subject}:{user}:"
    )
    os.makedirs(os.path.dirname(log_file(upid)), exist_ok=True)
    open(log_file(upid), "a").close()
    assert process.stdin is not None
    with process.stdin as stream:
        stream.write(json.dumps({**work, "log": log_file(upid)}).encode())
    threading.Thread(target=process.wait, daemon=True).start()
    return upid


def _start_ticks(pid: int) -> Optional[int]:
    """When the process was started, in the kernel's ticks; None once it has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else int(fields[19])


def _runs(task: Task) -> bool:
    return _start_ticks(task.pid) == task.pstart


def known(upid: str) -> Task:
    """The task of that UPID; 400 where it has no log here."""
    task = parse(upid)
    if not os.path.exists(log_file(upid)):
        raise problem.bad({"upid": "no such task"})
    return task


def status(upid: str) -> Dict[str, Any]:
    """What GET /nodes/N/tasks/UPID/status answers."""
    task = known(upid)
    running = _runs(task)
    user, mark, token = task.user.partition("!")
    found: Dict[str, Any] = {**task._asdict(), "user": user}
    found["status"] = "running" if running else "stopped"
    if mark:
        found["tokenid"] = token
    if not running:
        found["exitstatus"] = _ended(upid)
    return found


def _lines(upid: str) -> List[str]:
    with open(log_file(upid), errors="replace") as file:
        return file.read().splitlines()


def _ended(upid: str) -> str:
    """The words of the log's last line: OK, `WARNINGS: n` or the error."""
    last = (_lines(upid) or [""])[-1]
    if last == "TASK OK":
        return "OK"
    match = re.fullmatch(r"TASK (ERROR: (?P<error>.*)|(?P<warnings>WARNINGS: \d+))", last)
    if not match:
        return "unexpected status"
    return match["error"] if match["error"] is not None else match["warnings"]


def log(upid: str, start: int, limit: int) -> List[Dict[str, Any]]:
    """Its lines from `start`, which counts from 0, `limit` of them; 0: all."""
    known(upid)
    lines = _lines(upid) or ["no content"]
    last = start + limit if limit else len(lines)
    return [
        {"n": number + 1, "t": text} for number, text in enumerate(lines) if start <= number < last
    ]


def listing() -> List[Dict[str, Any]]:
    """Every task of this node, the newest first."""
    found = []
    for path in glob.glob(f"{LOGS}/?/UPID:*"):
        task = parse(os.path.basename(path))
        row: Dict[str, Any] = task._asdict()
        if not _runs(task):
            row["endtime"] = int(os.path.getmtime(path))
            row["status"] = _ended(task.upid)
        found.append(row)
    return sorted(found, key=lambda row: (-row["starttime"], row["upid"]))
