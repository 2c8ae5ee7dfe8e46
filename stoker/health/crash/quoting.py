"""Requests that the server logs (`--log-requests`): what a user sent is no word of the server's.

SGLang prints a request in one line, its text escaped. Where a wrapper or another version prints the
text as it is, it takes many lines, and these may be a log, a traceback or anything else.
"""

from __future__ import annotations

import re

from stoker.health.crash.line import PROGRAM, Line
from stoker.health.crash.peeling import LONGEST

OPENS = ("Receive: obj=", "Receive OpenAI: obj=", "Finish: obj=")
_CLOSED = re.compile(r"['\"\]}], \w{1,40}=.{0,4000}\)$|^['\"][)}\]]{1,4}$|['\"\]}][}\]]{1,3}\)?$")
_WHOLE = re.compile(r"[)}\]]$")
"""The end of a request in one line."""
_MOST = 2000
"""Lines of one request."""


class Quoting:
    """Whether a line is part of a request that an earlier line began to print."""

    def __init__(self) -> None:
        self.opened: Line | None = None
        self.lines = 0

    def holds(self, line: Line) -> bool:
        """The same for this line; a request's first line is the server's own."""
        opened = self.opened
        if opened and self._within(line, opened):
            self.lines += 1
            closed = _CLOSED.search(line.text.rstrip())
            self.opened = None if closed or self.lines >= _MOST else opened
            return True
        self.opened = line if _unfinished(line) else None
        self.lines = 0
        return False

    @staticmethod
    def _within(line: Line, opened: Line) -> bool:
        if opened.ident and (line.ident, line.pid) != (opened.ident, opened.pid):
            return opened.ident == line.ident
        if not line.dated:
            return line.origin == PROGRAM or not opened.ident
        if line.stamp is None or opened.stamp is None:
            return False
        return line.stamp < opened.stamp  # an older log, pasted


def _unfinished(line: Line) -> bool:
    text = line.text
    if not text.startswith(OPENS) or len(text) >= LONGEST - 200:
        return False
    return not _WHOLE.search(text.rstrip())
