"""A glance at a raw line: whether it certainly is one of the program's that says nothing.

It is asked before a line is read in full, which costs ten times as much. It knows the two usual
prefixes only; whatever it is not sure of is read.
"""

from __future__ import annotations

import functools
import re
from typing import Callable, Optional

from stoker.health.crash import phases, rules
from stoker.health.crash.signs import signed, unsigned

_PREFIX = re.compile(
    rb"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,64} (?!kernel:|systemd\[)"
    rb"[\w.@:-]{1,64}(?:\[\d{1,10}\])?: )?"
    rb"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[ \w]{0,24}\] )?"
    rb"(?:(?:INFO|ERROR|WARNING|CRITICAL): {1,8})?"
)
# The same two of a line without its digits.
_SKELETON = re.compile(
    rb"(?:[A-Z][a-z]{2} {2,3}:: [\w.-]{0,64} (?!kernel:|systemd\[)[\w.@:-]{1,64}(?:\[\])?: )?"
    rb"(?:\[-- ::[ A-Za-z]{0,24}\] )?(?:(?:INFO|ERROR|WARNING|CRITICAL): {1,8})?"
)
_WORDS = rb"[^ \[:/\"\x1b#\r\n][^:/\"\x1b#\r\n]{0,4000}$"
"""Of most lines that say nothing: what is told by more than its beginning holds one of these."""
_SAID = rb"(?!(?:INFO|ERROR|WARNING|CRITICAL)(?:: | - )|Receive|Finish: obj)[^ \[]"
_REQUEST = rb"(?:Receive(?: OpenAI)?|Finish): obj="
_ASKED = re.compile(_REQUEST)
_WHOLE = (b")", b"}", b"]")
"""The end of a request in one line (`quoting.py`)."""
_MOST_PREFIXES = 4
_Match = Callable[[bytes], Optional["re.Match[bytes]"]]
# What such a line begins with, besides what the rows and the marks of phases begin with.
_BEGINS = (
    "Deco Pref Fata Rece SIGQ SIGT term Subp Grac Trac lxc- NVRM nvcc ptxa gcc: g++: cc1p c++: "
    "ninj nvli usag Fini Kill Segm Abor"
)


class Words:
    """Lines that are words only behind a usual prefix: most that `boring` finds, far quicker.

    A request that is logged in one line is words too, whatever they are.
    """

    def __init__(self) -> None:
        self.prefixes: dict[bytes, tuple[_Match, _Match, _Match]] = {}

    def found(self, lines: list[bytes], skeletons: list[bytes], wanted: list[int]) -> list[int]:
        """Of the wanted ones, by number, those lines; a skeleton is a line without its digits."""
        found: list[int] = []
        for prefix, (asks, words, says) in self.prefixes.items():
            begin = len(prefix)
            found += [at for at in wanted if asks(skeletons[at]) and _whole(lines[at])]
            plain = [at for at in wanted if words(skeletons[at])]
            known = set(plain)
            other = [at for at in wanted if at not in known and says(skeletons[at])]
            rows = unsigned([skeletons[at][begin:] for at in other])
            starts, end = _bare_starts(), begin + rules.KEY
            plain += [other[row] for row in rows]
            found += [at for at in plain if skeletons[at][begin:end] not in starts]
        self._learn(skeletons[wanted[-1]])
        return found

    def _learn(self, skeleton: bytes) -> None:
        """The prefix of one of them, for the next time."""
        found = _SKELETON.match(skeleton) if len(self.prefixes) < _MOST_PREFIXES else None
        if found and found.end() and found[0] not in self.prefixes:
            prefix = re.escape(found[0])
            asks, words, says = (re.compile(prefix + form) for form in (_REQUEST, _WORDS, _SAID))
            self.prefixes[found[0]] = asks.match, words.match, says.match


def boring(raw: bytes) -> bool:
    """Whether nothing in the line can matter, outside of a traceback."""
    found = _PREFIX.match(raw)
    if found is None or not found.end():
        return False
    at = found.end()
    if _ASKED.match(raw, at):
        return _whole(raw)
    start = raw[at : at + rules.KEY]
    if start in _starts() or start[:1] == b"[" or not start.strip():
        return False
    return not signed(raw[at:])


def _whole(request: bytes) -> bool:
    """Whether a line that begins a request ends it too, and nothing was printed over it."""
    return request.endswith(_WHOLE) and b"\r" not in request


@functools.lru_cache(maxsize=None)
def _starts() -> frozenset[bytes]:
    every = rules.letters() | phases.LETTERS | set(_BEGINS.split()) | {"Bus "}
    return frozenset(letters.encode() for letters in every)


@functools.lru_cache(maxsize=None)
def _bare_starts() -> frozenset[bytes]:
    """The same of lines without their digits."""
    digits = b"0123456789"
    return frozenset(letters.translate(None, digits) for letters in _starts())
