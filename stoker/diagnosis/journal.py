"""What the container's journal holds of one start of a unit."""

from __future__ import annotations

import contextlib
import json
import re
from collections import deque
from collections.abc import Iterator

from stoker.diagnosis.running import Failed, answer, output

HEAD_BYTES = 16 << 20
TAIL_LINES = 60_000
"""Of a log that is longer than the head: its end, where the death is."""
TAIL_BYTES = 64 << 20
LAST_LINES = 12
LONGEST_LINE = 500
"""Characters, of those last lines."""
STOPPING = "de5b426a63be47a7b6ac3eaac82e2f6f"
"""systemd's message id of `Stopping ...`: somebody asked for it, a death has none."""
_CAT = ("journalctl", "-q", "--no-pager", "-o", "cat", "--no-hostname")


class Log:
    """The lines of one start, the server's and systemd's about it, in chunks.

    Its numbering is that of `journalctl -o cat` with the same matches. Of a log longer than
    `HEAD_BYTES` the middle is left out, and a line after it has no number.
    """

    def __init__(self, invocation: str) -> None:
        self.invocation = invocation if re.fullmatch(r"[0-9a-f]{32}", invocation) else ""
        self.cut_after: int | None = None
        """Whole lines before what was left out; None: nothing was, or it is not yet known."""
        self._end: deque[bytes] = deque(maxlen=2)

    def chunks(self) -> Iterator[bytes]:
        """`Failed` if the journal cannot be read."""
        if not self.invocation:
            return
        sent = lines = 0
        for chunk in output(self._words(), HEAD_BYTES):
            sent += len(chunk)
            lines += chunk.count(b"\n")
            yield self._kept(chunk)
        if sent >= HEAD_BYTES:
            self.cut_after = lines
            yield b"\n"
            for chunk in output(self._words("-n", str(TAIL_LINES)), TAIL_BYTES):
                yield self._kept(chunk)

    def last_lines(self) -> tuple[str, ...]:
        """The last of what was read so far."""
        text = b"".join(self._end).decode("utf-8", "replace")
        return tuple(line[:LONGEST_LINE] for line in text.splitlines()[-LAST_LINES:])

    def _kept(self, chunk: bytes) -> bytes:
        self._end.append(chunk)
        return chunk

    def _words(self, *more: str) -> list[str]:
        # By transport: what we said of it ourselves is of the same start and comes by another.
        server = (f"_SYSTEMD_INVOCATION_ID={self.invocation}", "_TRANSPORT=stdout")
        return [*_CAT, *more, *server, "+", f"INVOCATION_ID={self.invocation}"]


def caught_up() -> None:
    """Wait until the journal has taken what was written so far; not for long.

    A server that writes a flood may be dead before its last lines have arrived there.
    """
    with contextlib.suppress(Failed):
        answer(["journalctl", "--sync"])


def stopping(invocation: str) -> float | None:
    """When systemd began to end that start because somebody asked, seconds since 1970.

    None: nobody did, or the journal cannot be read.
    """
    # Of PID 1: the other two are fields that any process may write.
    matches = ("_PID=1", f"MESSAGE_ID={STOPPING}", f"INVOCATION_ID={invocation}")
    try:
        said = json.loads(answer(["journalctl", "-q", "-o", "json", "-n", "1", *matches]))
        stamp = said.get("_SOURCE_REALTIME_TIMESTAMP") or said["__REALTIME_TIMESTAMP"]
        return int(stamp) / 1e6
    except (Failed, ValueError, KeyError, TypeError, AttributeError):
        return None
