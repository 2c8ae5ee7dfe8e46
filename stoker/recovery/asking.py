"""Programs of the node that only tell something: each with a deadline, after which it is ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import Callable, Sequence

MOST_BYTES = 64 << 20
"""What a program may say; it is ended after that."""


@dataclass(frozen=True)
class Answer:
    """What a program said and how it ended."""

    code: int | None
    """None: it was ended, or could not be, see `alive`. 127: there is no such program."""
    out: str
    err: str
    seconds: float
    alive: bool = False
    """It outlived even SIGKILL: it is stuck in the kernel."""


def ask(
    words: Sequence[str],
    limit_s: float,
    keep: Callable[[bytes], bool] | None = None,
    started: Callable[[int], None] = lambda pid: None,
) -> Answer:
    """Run it. Of long texts `keep` chooses the lines that matter; `started` is told its pid."""
    began = time.monotonic()
    try:
        child = subprocess.Popen(
            list(words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
        )
    except OSError as error:
        return Answer(127, "", f"{words[0]}: {os.strerror(error.errno or 0)}", 0.0)
    try:
        started(child.pid)
    except OSError:
        _ended(child)
        _close(child)
        raise
    out, err, whole = _heard(child, began + limit_s, keep)
    code = _waited(child, began + limit_s - time.monotonic()) if whole else None
    alive = code is None and not _ended(child)
    _close(child)
    return Answer(code, out, err, time.monotonic() - began, alive)


def _heard(
    child: subprocess.Popen[bytes], end: float, keep: Callable[[bytes], bool] | None
) -> tuple[str, str, bool]:
    """Both streams, and whether they were closed in time."""
    assert child.stdout and child.stderr
    said = {child.stdout.fileno(): b"", child.stderr.fileno(): b""}
    out = child.stdout.fileno()
    lines: list[bytes] = []
    open_ones, heard = set(said), 0
    while open_ones and heard < MOST_BYTES:
        left = end - time.monotonic()
        ready, _, _ = select.select(list(open_ones), [], [], left) if left > 0 else ([], [], [])
        if not ready:
            break
        for number in ready:
            data = os.read(number, 1 << 16)
            heard += len(data)
            said[number] += data
            if not data:
                open_ones.discard(number)
            if number == out and keep:
                *whole, said[out] = said[out].split(b"\n")
                lines += [line for line in whole if keep(line)]
    texts = {number: text.decode("utf-8", "replace") for number, text in said.items()}
    kept = b"".join(line + b"\n" for line in lines).decode("utf-8", "replace")
    return kept + texts[out], texts[child.stderr.fileno()], not open_ones


def _close(child: subprocess.Popen[bytes]) -> None:
    for stream in (child.stdout, child.stderr):
        if stream:
            stream.close()


def _waited(child: subprocess.Popen[bytes], limit_s: float) -> int | None:
    try:
        return child.wait(timeout=max(0.0, limit_s))
    except subprocess.TimeoutExpired:
        return None


def _ended(child: subprocess.Popen[bytes]) -> bool:
    """End it and what it started; False if it does not die."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    return _waited(child, 1.0) is not None
