"""Commands of the container that answer in time or not at all."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import IO

ANSWER_S = 3.0
"""Several of them, the log and the report must fit into the 25 s that the unit gives."""
CHUNK_BYTES = 1 << 18
_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C",
    "SYSTEMD_COLORS": "0",
}
"""Nothing of the unit's own: its secrets and LD_PRELOAD are not for them."""


class Failed(Exception):
    """A command gave no answer; says why."""


def answer(words: list[str], limit_s: float = ANSWER_S) -> str:
    """What it prints; `Failed` if it fails or takes longer."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=limit_s,
            env=_ENVIRONMENT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{words[0]}: {error}") from None
    except MemoryError:
        raise Failed(f"{words[0]} printed more than there is memory for") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise Failed(f"{words[0]} ended with {done.returncode}: {said or 'nothing'}")
    return done.stdout.decode("utf-8", "replace")


def output(words: list[str], most_bytes: int) -> Iterator[bytes]:
    """What it prints as it comes, up to about so many bytes; then it is ended.

    Ended too when nobody reads on. `Failed` if it cannot be run, or fails and printed nothing.
    """
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_ENVIRONMENT,
            bufsize=0,  # so that a read gives what there is
        )
    except OSError as error:
        raise Failed(f"{words[0]}: {error.strerror}") from None
    try:
        assert process.stdout is not None and process.stderr is not None
        sent = 0
        while sent < most_bytes and (chunk := process.stdout.read(CHUNK_BYTES)):
            sent += len(chunk)
            yield chunk
        if not sent and process.wait() != 0:
            raise Failed(f"{words[0]} ended with {process.returncode}: {_last(process.stderr)}")
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _last(stream: IO[bytes]) -> str:
    return stream.read(4096).decode("utf-8", "replace").strip().rpartition("\n")[2] or "nothing"
