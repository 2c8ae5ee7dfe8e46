"""A glance at a raw line: whether it certainly is one of the program's that says nothing.

It is asked before a line is read in full, which costs ten times as much. It knows the two usual
prefixes only; whatever it is not sure of is read.
"""

from __future__ import annotations

import functools
import re

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
_WORDS = re.compile(rb"[^ \[:/\"\x1b#\r\n][^:/\"\x1b#\r\n]{0,4000}$")
"""Of most lines that say nothing: what is told by more than its beginning holds one of these."""
_DEEPER = (b" ", b"[", b"INFO", b"ERROR", b"WARNING", b"CRITICAL")
"""Behind these another prefix, or a traceback, may begin."""
_ASKED = (b"Receive: obj=", b"Receive OpenAI: obj=", b"Finish: obj=")
_WHOLE = (b")", b"}", b"]")
"""The end of a request in one line (`quoting.py`)."""
_MOST_PREFIXES = 4
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
        self.prefixes: list[bytes] = []

    def found(self, lines: list[bytes], skeletons: list[bytes], wanted: list[int]) -> list[int]:
        """Of the wanted ones, by number, those lines; a skeleton is a line without its digits."""
        found: list[int] = []
        for prefix in self.prefixes:
            behind = [at for at in wanted if skeletons[at].startswith(prefix)]
            begin = len(prefix)
            self._sort(lines, behind, [skeletons[at][begin:] for at in behind], found)
        self._learn(skeletons[wanted[-1]])
        return found

    @staticmethod
    def _sort(lines: list[bytes], behind: list[int], said: list[bytes], found: list[int]) -> None:
        starts, words, key = _bare_starts(), _WORDS.match, rules.KEY
        other, texts = [], []
        for at, text in zip(behind, said):
            if text[:key] in starts:
                if text.startswith(_ASKED) and _whole(lines[at]):
                    found.append(at)
            elif words(text):
                found.append(at)
            elif text and not text.startswith(_DEEPER):
                other.append(at)
                texts.append(text)
        found += [other[row] for row in unsigned(texts)]

    def _learn(self, skeleton: bytes) -> None:
        """The prefix of one of them, for the next time."""
        found = _SKELETON.match(skeleton) if len(self.prefixes) < _MOST_PREFIXES else None
        if found and found.end() and found[0] not in self.prefixes:
            self.prefixes.append(found[0])


def boring(raw: bytes) -> bool:
    """Whether nothing in the line can matter, outside of a traceback."""
    found = _PREFIX.match(raw)
    if found is None or not found.end():
        return False
    at = found.end()
    if raw.startswith(_ASKED, at):
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
