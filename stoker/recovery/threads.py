"""What the threads of a process are at, for those that look as if they might not end."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from stoker.health.stuck import EXITING, Thread
from stoker.recovery import process


def read(proc: str, pid: int) -> list[dict[str, Any]]:
    """Every thread of the process as the fields of `Thread`, the main one first.

    Signals, place and stack are read only of a thread that waits uninterruptibly, is on its way
    out, or lives on after the main one. Reading a stack may block: this is for a child with a
    deadline. A process that has gone has none.
    """
    names = sorted((int(name) for name in _names(f"{proc}/{pid}/task")), key=lambda tid: tid != pid)
    threads: list[dict[str, Any]] = []
    for tid in names:
        thread = _read(f"{proc}/{pid}/task/{tid}", bool(threads) and threads[0]["state"] in "ZX")
        if thread:
            threads.append(asdict(thread))
    return threads


def _read(folder: str, orphaned: bool) -> Thread | None:
    try:
        directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        stat = process.parse_stat(process.read(directory, "stat"))
        if stat.state in ("Z", "X") or not (orphaned or stat.state == "D" or stat.flags & EXITING):
            return Thread(stat.state, stat.flags)
        return Thread(
            state=stat.state,
            flags=stat.flags,
            pending=process.parse_pending(_text(directory, "status")),
            wchan=_text(directory, "wchan"),
            stack=_text(directory, "stack"),
        )
    except (OSError, ValueError):
        return None
    finally:
        os.close(directory)


def _text(directory: int, name: str) -> str:
    try:
        return process.read(directory, name)
    except OSError:
        return ""


def _names(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.isdigit()]
    except OSError:
        return []
