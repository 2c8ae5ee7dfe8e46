"""Prefixes that a program around the server puts before each of its lines, learned from the log.

Launchers, Ray, test harnesses and their like all have one of their own; no list of them is ever
whole. Two kinds of line have a beginning that is certain: one with SGLang's own time, and a frame
of a traceback. What stands before it there stands before the other lines too, but for digits, the
level and the name of a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_MOST = 6
"""Prefixes of one log."""
_STAMP = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?: [A-Za-z]{2,16}\d{1,5}){0,6}\] "
_USAGE = r"usage: [\w./-]{1,60}(?: \w{1,20})? \[-h\]"
_CERTAIN = re.compile(
    r"(?P<prefix>[^'\"\\{}]{0,198}?[\])|:>-] ?)"
    rf'(?:{_STAMP}|{_USAGE}|  File "[^"]{{1,400}}", line \d{{1,9}}, in )'
)
_BLOCK = re.compile(rf"(?P<prefix> {{2,12}})(?:Traceback \(most recent call last\):|{_USAGE})")
"""A log as an indented block; of a log that has lines without it, it is something else."""
_BARE = re.compile(rf"(?P<prefix>[^'\"\\{{}}\[]{{1,100}}? ){_STAMP}")
_TWICE = re.compile(
    rf"(?P<prefix>{_STAMP}[^'\"\\{{}}]{{0,100}}?[\])|:>-] )"
    rf'(?:{_STAMP}|  File "[^"]{{1,400}}", line \d{{1,9}}, in )'
)
"""A runner whose own time looks like SGLang's."""
_OFTEN = 3
_BAR = re.compile(r"(?:it/s|s/it)\]$")
_INDENTED = re.compile(rf"(?P<prefix> {{1,12}}){_STAMP}")
_OWN = re.compile(_STAMP)
_VARIES = re.compile(
    r"\d{1,40}|\b(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL)\b|\b\w{1,60}\.py\b| {1,4}"
)
_PLAIN = ("[rank", "Traceback (most recent", '  File "')
_SIGNS = ('File "', "] ", "Traceback (most recent", "usage: ")


class Prefixes:
    """What is known of one log; `learned` is called when more is."""

    def __init__(self, learned: Callable[[], None]) -> None:
        self.known: list[re.Pattern[str]] = []
        self.learned = learned
        self.plain = False
        """Lines without any prefix were seen."""
        self.seen: dict[str, int] = {}

    def without(self, text: str) -> str:
        """The text without such a prefix."""
        for pattern in self.known:
            found = pattern.match(text)
            if found:
                return text[found.end() :]
        if len(self.known) < _MOST and any(sign in text for sign in _SIGNS):
            return self._learn(text)
        return text

    def _learn(self, text: str) -> str:
        if text.startswith(_PLAIN):  # [rank0] is torch's own: a rank
            self.plain = True
            return text
        if _OWN.match(text):
            self.plain = True
            found = self._often(_TWICE.match(text))
        else:
            found = _INDENTED.match(text) or (None if self.plain else _BLOCK.match(text))
            found = found or _CERTAIN.match(text) or self._often(_BARE.match(text))
        if not found or _BAR.search(found["prefix"].rstrip()):
            return text
        self.known.append(re.compile(_pattern(found["prefix"])))
        self.learned()
        return text[found.end("prefix") :]

    def _often(self, found: re.Match[str] | None) -> re.Match[str] | None:
        """A prefix that looks like anything else is one once it was there a few times."""
        if not found:
            return None
        pattern = _pattern(found["prefix"])
        if len(self.seen) < 64 or pattern in self.seen:
            self.seen[pattern] = self.seen.get(pattern, 0) + 1
        return found if self.seen.get(pattern, 0) >= _OFTEN else None


def _pattern(prefix: str) -> str:
    """Of the prefixes that differ from this one in digits, level, file and spaces at most."""
    if not prefix.strip():
        return prefix
    parts, at = [], 0
    for varies in _VARIES.finditer(prefix):
        parts.append(re.escape(prefix[at : varies.start()]))
        parts.append(_kind(varies[0]))
        at = varies.end()
    return "".join([*parts, re.escape(prefix[at:])])


def _kind(text: str) -> str:
    if text[0] == " ":
        return " {1,4}" if len(text) > 1 else " "
    if text.isdigit():
        return r"\d{1,40}"
    return r"\w{1,60}\.py" if text.endswith(".py") else "[A-Z]{4,8}"
