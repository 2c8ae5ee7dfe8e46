"""Files as somebody names them on the command line: opened, and read in blocks, or refused."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stoker.health import wording
from stoker.refused import Refused

BLOCK = 1 << 18
"""Bytes that are read at once."""
STDIN = "-"


@dataclass(frozen=True)
class Asked:
    """What is to be done with a file: `cannot <verb> <file>: ...; name a <noun> in it`."""

    verb: str
    noun: str

    def refused(self, name: str, why: str) -> Refused:
        """The refusal of that file, in one line."""
        return Refused(f"cannot {self.verb} {shown(name)}: {why}")

    def opened(self, name: str) -> int:
        """A file descriptor; of a FIFO only if somebody writes to it, since else it would wait."""
        if name == STDIN:
            return os.dup(sys.stdin.fileno())
        try:
            file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        except (OSError, ValueError) as error:
            raise self.refused(name, self.why(error)) from None
        kind = os.fstat(file).st_mode
        if stat.S_ISDIR(kind):
            os.close(file)
            raise self.refused(name, f"it is a directory; name a {self.noun} in it")
        return file

    def blocks(
        self, name: str, file: int, count: Callable[[int], object] = lambda read: None
    ) -> Iterator[bytes]:
        """What is in it, closed at the end; `count` is told how many bytes came each time."""
        waits = stat.S_ISFIFO(os.fstat(file).st_mode) and name != STDIN
        try:
            while True:
                try:
                    block = os.read(file, BLOCK)
                except BlockingIOError:  # somebody has it open for writing
                    os.set_blocking(file, True)
                    waits = False
                    continue
                except OSError as error:
                    raise self.refused(name, self.why(error)) from None
                if not block and waits:
                    raise self.refused(
                        name, "it is a FIFO that nobody writes to; name a file, or use -"
                    )
                waits = False
                if not block:
                    return
                count(len(block))
                yield block
        finally:
            os.close(file)

    def why(self, error: Exception) -> str:
        """What went wrong, in words."""
        if not isinstance(error, OSError):
            return f"{error}; correct its name"
        said = (error.strerror or "it cannot be read").lower()
        known = {
            errno.ENOENT: "there is no such file; correct its name",
            errno.EACCES: "permission denied; read it as a user who may",
            errno.EISDIR: f"it is a directory; name a {self.noun} in it",
        }
        return known.get(error.errno or 0, f"{said}; see what it is")


def shown(name: str) -> str:
    """The file's name for a terminal."""
    return "standard input" if name == STDIN else wording.printable(name)
