"""Programs on the node, each with a deadline.

One that only reads is ended at its deadline. One that changes the driver or a container is left to
itself: ended half-way it would do more harm, and if it hangs it cannot be ended anyway.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import BinaryIO, Callable, Sequence

from stoker.recovery import process

ENVIRONMENT = {
    "LC_ALL": "C",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}

MOST_BYTES = 1 << 20
"""What a program may say; it cannot write more than that."""
Started = Callable[[int, int], None]


@dataclass(frozen=True)
class Ran:
    """How a program ended."""

    words: tuple[str, ...]
    code: int | None
    """None: it had not ended in time. 127: there is no such program."""
    out: str
    err: str
    seconds: float
    pid: int = 0
    start_ticks: int = 0

    @property
    def failure(self) -> str:
        """Why it did not do what it was asked, in a sentence; empty if it did."""
        if self.code == 0:
            return ""
        name = " ".join(self.words)
        if self.code is None:
            return f"{name}: no end after {self.seconds:.0f} s (process {self.pid})"
        said = (self.err.strip() or self.out.strip()).splitlines()
        return f"{name}: exit {self.code}{f', {said[-1]}' if said else ''}"


def read(words: Sequence[str], limit_s: float) -> Ran:
    """Run it; at the deadline it and what it started in its session are ended."""
    return _run(words, limit_s, True, lambda pid, ticks: None)


def change(words: Sequence[str], limit_s: float, started: Started = lambda pid, ticks: None) -> Ran:
    """Run it; at the deadline it is left to itself, with its output where it can write on.

    `started` is told its pid and start time, so that it can be found whatever becomes of us.
    """
    return _run(words, limit_s, False, started)


def _run(words: Sequence[str], limit_s: float, end: bool, tell: Started) -> Ran:
    began = time.monotonic()
    with _memory("out") as out, _memory("err") as err:
        for said in (out, err):
            os.ftruncate(said.fileno(), MOST_BYTES)
            _seal(said)
        try:
            child = subprocess.Popen(
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            return Ran(tuple(words), 127, "", f"{words[0]}: {error.strerror}", 0.0)
        ticks = ticks_of(child.pid)
        tell(child.pid, ticks)
        code = _waited(child, limit_s)
        if code is None and end:
            _end(child)
        spent = time.monotonic() - began
        return Ran(tuple(words), code, _text(out), _text(err), spent, child.pid, ticks)


def _memory(name: str) -> BinaryIO:
    """A file without a disk: a full one stops no recovery, and a child left behind can write on."""
    return os.fdopen(os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "w+b")


def _seal(stream: BinaryIO) -> None:
    """It grows no more, whoever has it: it is the node's memory, and goes into containers."""
    fcntl.fcntl(stream.fileno(), fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)


def _waited(child: subprocess.Popen[bytes], limit_s: float) -> int | None:
    try:
        return child.wait(timeout=limit_s)
    except subprocess.TimeoutExpired:
        return None


def _end(child: subprocess.Popen[bytes]) -> None:
    """Its whole session; one that cannot die is left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    _waited(child, 1.0)


def _text(stream: BinaryIO) -> str:
    said = os.pread(stream.fileno(), MOST_BYTES, 0).rstrip(b"\0")  # the rest was never written
    return said.decode("utf-8", "replace")


def ticks_of(pid: int, proc: str = "/proc") -> int:
    """Start time of that process in clock ticks; 0 if it has gone."""
    try:
        with open(f"{proc}/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            return process.parse_stat(stream.read()).start_ticks
    except (OSError, ValueError):
        return 0
