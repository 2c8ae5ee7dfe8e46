"""The devices that a process's threads have open.

The main thread first. Every thread is asked whether it shares a table that was looked at already,
which is one cheap call; only another table is read. Where the kernel does not tell, all are.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import Callable

from stoker.recovery import numbers
from stoker.recovery.numbers import Number
from stoker.recovery.same_files import same_files

GONE = (errno.ENOENT, errno.ESRCH)
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass
class Tables:
    """What the file tables of one process have."""

    found: set[Number] = field(default_factory=set)
    """Numbers of the open devices that were wanted."""
    files: int = 0
    """Open files in all tables."""
    refused: str = ""
    """Why some of it could not be seen; empty: all was."""


def read(
    directory: int, pid: int, threads: int, wanted: Callable[[Number], bool], real: bool = True
) -> Tables:
    """The tables of the process whose directory is open; `real`: its threads are this kernel's."""
    tables = Tables()
    looked: list[int] = []
    for thread in _threads(directory, pid, threads):
        if real and any(same_files(other, thread) for other in looked):
            continue
        before = tables.files
        _read_table(directory, "fd" if thread == pid else f"task/{thread}/fd", wanted, tables)
        if tables.files > before:
            looked.append(thread)
    return tables


def _threads(directory: int, pid: int, count: int) -> list[int]:
    """Thread ids, the main thread first."""
    if count <= 1:
        return [pid]
    try:
        names = _names(directory, "task")
    except OSError:
        return [pid]
    return [pid, *sorted(int(name) for name in names if name.isdigit() and int(name) != pid)]


def _read_table(directory: int, path: str, wanted: Callable[[Number], bool], into: Tables) -> None:
    try:
        table = os.open(path, _DIRECTORY, dir_fd=directory)
    except OSError as error:
        _note(error, path, into)
        return
    try:
        for name in os.listdir(table):
            into.files += 1
            try:
                number = numbers.of(table, name)
            except OSError as error:
                _note(error, path, into)
                continue
            if number and wanted(number):
                into.found.add(number)
    except OSError as error:
        _note(error, path, into)
    finally:
        os.close(table)


def _note(error: OSError, path: str, into: Tables) -> None:
    """A file or thread that has just gone is nothing; any other error is a gap."""
    if error.errno not in GONE and not into.refused:
        into.refused = f"{path}: {os.strerror(error.errno or 0).lower()}"


def _names(directory: int, path: str) -> list[str]:
    opened = os.open(path, _DIRECTORY, dir_fd=directory)
    try:
        return os.listdir(opened)
    finally:
        os.close(opened)
