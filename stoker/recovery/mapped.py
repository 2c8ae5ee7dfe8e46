"""The devices that processes have mapped: a mapping keeps a device after its file was closed.

/proc/<pid>/maps names a mapping's file by its file system, inode and path; what it is, only
map_files tells. Libraries are mapped by everybody, so each file is asked for once.
"""

from __future__ import annotations

import errno
import os
import re
from typing import Callable, Dict, Optional

from stoker.recovery import files, numbers
from stoker.recovery.numbers import Number

File = bytes
"""A mapped file as a line of maps ends: file system, inode and path."""
# Range, access, offset, then the file; without one it is `00:00 0`.
_OF_A_FILE = re.compile(rb"^(\S+) \S+ \S+ (?!00:00 0\b)(.+)$", re.MULTILINE).findall


class Mappings:
    """Reads the mappings of one process after the other, remembering the files it has met."""

    def __init__(self, proc: str, wanted: Callable[[Number], bool]) -> None:
        self._proc = proc
        self._wanted = wanted
        self._known: Dict[File, Optional[Number]] = {}

    def read(self, pid: int) -> list[Number]:
        """Numbers of the wanted devices that the process has mapped; it may have gone meanwhile.

        OSError if something of it could not be told.
        """
        try:
            found = self._read(pid)
        except (FileNotFoundError, ProcessLookupError):
            found = None
        if found is not None:
            return found
        # Without its main thread a process shows its mappings only through another one.
        for thread in files.names(f"{self._proc}/{pid}/task"):
            try:
                found = self._read(int(thread))
            except (FileNotFoundError, ProcessLookupError, ValueError):
                continue
            if found is not None:
                return found
        return []

    def _read(self, pid: int) -> list[Number] | None:
        """As `read`, of a thread; None if it has no memory."""
        mapped = self._files(pid)
        if mapped is None:
            return None
        if not self._learn(pid, mapped):
            mapped = self._files(pid) or {}  # mappings were split or joined meanwhile
            if not self._learn(pid, mapped):
                raise OSError(errno.EAGAIN, "its mappings change faster than they can be read")
        found = {self._known[file] for file in mapped}
        return sorted(number for number in found if number and self._wanted(number))

    def _files(self, pid: int) -> dict[File, bytes] | None:
        """Every mapped file, with the address range of one of its mappings; None: no mappings."""
        with open(f"{self._proc}/{pid}/maps", "rb", buffering=0) as stream:
            text = stream.readall()
        return {file: place for place, file in _OF_A_FILE(text)} if text else None

    def _learn(self, pid: int, mapped: dict[File, bytes]) -> bool:
        """Look at files not met before; False if a mapping was not there any more."""
        unseen = [file for file in mapped if file not in self._known]
        if not unseen:
            return True
        ranges = os.open(f"{self._proc}/{pid}/map_files", os.O_RDONLY | os.O_DIRECTORY)
        try:
            for file in unseen:
                start, _, end = mapped[file].partition(b"-")
                name = f"{int(start, 16):x}-{int(end, 16):x}"
                try:
                    self._known[file] = numbers.of(ranges, name)
                except FileNotFoundError:
                    return False
        finally:
            os.close(ranges)
        return True
