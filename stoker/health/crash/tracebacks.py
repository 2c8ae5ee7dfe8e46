"""Python's tracebacks out of the lines of a log, each with its frames and its whole message.

Ranks and processes print at once: what journald or torch keeps apart is read apart; where nothing
does, frames of two tracebacks may mix, and their exceptions are still found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stoker.health.crash.line import Line
from stoker.health.crash.raised import Opened, Raised

HEADER = "Traceback (most recent call last):"
_LONGEST_MESSAGE = 60  # lines
_LONGEST_SAID = 3000  # characters of one of them
_LONGEST_OPEN = 600  # lines without an end
_MOST_FRAMES = 16
_MOST_STREAMS = 64
_FRAME = re.compile(r' {2,6}File "(?P<file>[^"]{1,400})", line \d{1,9}, in (?P<function>.{1,200})')
_NAMED = re.compile(r"(?:[A-Za-z_]\w{0,60}\.){0,12}(?P<name>[A-Z]\w{0,80})(?:: ?(?P<said>.*))?$")
_BARE = re.compile(
    r"(?:[A-Za-z_]\w{0,60}\.){0,12}(?P<name>[A-Z]\w{0,60}(?:Error|Exception|OutOfResources))"
    r": ?(?P<said>.*)$"
)
_LINKS = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_MARKS = re.compile(r"[ ~^]{1,400}$")


class Tracebacks:
    """All that are open; `feed` gives the ones that a line ends."""

    def __init__(self) -> None:
        self.streams: dict[tuple[str, str, str], Opened] = {}
        self.chains = 0

    def feed(self, line: Line) -> Iterator[Raised]:
        """Exceptions that are complete now that this line is known."""
        key = (line.ident, line.pid, line.rank if line.rank.startswith("rank") else "")
        opened = self.streams.get(key)
        text = line.text.rstrip()
        if text.endswith(HEADER):
            yield from self._header(key, opened, line, text)
        elif opened is None:
            self._implicit(key, line, text)
            if key not in self.streams:
                found = _BARE.match(text) if text[:1].isalpha() and not line.voice else None
                if found:
                    self._open(key, line, "")
                    self._name(self.streams[key], line, found, bare=True)
        elif opened.raised is None:
            self._frames(key, opened, line, text)
        else:
            yield from self._message(key, opened, line, text)

    def fresh(self, line: Line) -> Raised | None:
        """The exception that this line, just fed, names."""
        key = (line.ident, line.pid, line.rank if line.rank.startswith("rank") else "")
        opened = self.streams.get(key)
        named = opened.raised if opened else None
        return named if named and named.number == line.number else None

    def rest(self) -> Iterator[Raised]:
        """Those that the log's end, or a new start, leaves unfinished."""
        for opened in list(self.streams.values()):
            if opened.raised:
                yield opened.raised
        self.streams.clear()

    def _header(
        self, key: tuple[str, str, str], opened: Opened | None, line: Line, text: str
    ) -> Iterator[Raised]:
        context = text[: -len(HEADER)].strip(" :|+")
        outer = None
        chain = None
        if opened and opened.raised:
            yield opened.raised
        elif opened and opened.linked:
            chain = opened.chain
        elif opened and opened.frames and opened.outer is None:
            outer = opened
        self._open(key, line, context, chain)
        self.streams[key].outer = outer
        if chain is not None and opened and not context:
            self.streams[key].context = opened.context
            self.streams[key].direct = opened.direct
            _borrow(line, opened.line)

    def _implicit(self, key: tuple[str, str, str], line: Line, text: str) -> None:
        found = _FRAME.match(text)
        if found:  # the log begins inside of one
            self._open(key, line, "")
            self.streams[key].frames.append(f"{found['file']}:{found['function']}")

    def _open(
        self, key: tuple[str, str, str], line: Line, context: str, chain: int | None = None
    ) -> None:
        if len(self.streams) >= _MOST_STREAMS and key not in self.streams:
            self.streams.pop(next(iter(self.streams)))
        if chain is None:
            self.chains += 1
            chain = self.chains
        self.streams[key] = Opened(line, context, chain)

    def _frames(self, key: tuple[str, str, str], opened: Opened, line: Line, text: str) -> None:
        opened.lines += 1
        found = _FRAME.match(text)
        if found:
            opened.frames.append(f"{found['file']}:{found['function']}")
            del opened.frames[:-_MOST_FRAMES]
        elif text.startswith("    ") and not _MARKS.match(text):
            opened.source, opened.source_number = text.strip(), line.number
        elif text[:1].isalpha() and not line.dated and not line.voice:
            named = _NAMED.match(text)
            if named:
                self._name(opened, line, named)
        if opened.lines > _LONGEST_OPEN:
            del self.streams[key]

    def _name(self, opened: Opened, line: Line, found: re.Match[str], bare: bool = False) -> None:
        _borrow(line, opened.line)
        opened.raised = Raised(
            number=line.number,
            name=found["name"],
            said=[(line.number, (found["said"] or "").strip()[:_LONGEST_SAID])],
            frames=opened.frames,
            source=opened.source,
            source_number=opened.source_number,
            line=line,
            context=opened.context,
            chain=opened.chain,
            bare=bare,
            direct=opened.direct,
        )

    def _message(
        self, key: tuple[str, str, str], opened: Opened, line: Line, text: str
    ) -> Iterator[Raised]:
        raised = opened.raised
        assert raised is not None
        if text.strip() in _LINKS:
            yield raised
            opened.raised, opened.linked = None, True
            opened.direct = text.strip() == _LINKS[1]
            opened.frames, opened.source, opened.lines, opened.source_number = [], "", 0, 0
            return
        if line.dated or line.voice or len(raised.said) >= _LONGEST_MESSAGE:
            yield raised
            if opened.outer:
                self.streams[key] = opened.outer
            else:
                del self.streams[key]
            return
        found = _FRAME.match(text)
        if found and opened.outer:  # the other traceback goes on
            yield raised
            self.streams[key] = opened.outer
            self._frames(key, opened.outer, line, text)
            return
        raised.said.append((line.number, text.strip()[:_LONGEST_SAID]))


def _borrow(line: Line, header: Line) -> None:
    """Rank and time of the header, for a line that has none of its own."""
    line.rank = line.rank or header.rank
    if line.stamp is None:
        line.stamp, line.year = header.stamp, header.year
