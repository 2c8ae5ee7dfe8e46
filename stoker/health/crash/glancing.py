"""A glance at a raw line: whether it certainly is one of the program's that says nothing.

It is asked before a line is read in full, which costs ten times as much. It knows the two usual
prefixes only; whatever it is not sure of is read.
"""

from __future__ import annotations

import functools
import re

from stoker.health.crash import phases, rules

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
_REQUEST = rb"(?:Receive(?: OpenAI)?|Finish): obj="
_ASKED = re.compile(_REQUEST)
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

    Whatever is told by more than its beginning has a colon, a slash or a quote. So has a request
    that is logged, but in one line it is words too, whatever they are.
    """

    def __init__(self) -> None:
        self.prefixes: dict[bytes, tuple[re.Pattern[bytes], re.Pattern[bytes]]] = {}

    def found(self, lines: list[bytes], skeletons: list[bytes], wanted: list[int]) -> list[int]:
        """Of the wanted ones, by number, those lines; a skeleton is a line without its digits."""
        starts, found = _bare_starts(), []
        for prefix, (words, request) in self.prefixes.items():
            asks = request.match
            found += [at for at in wanted if asks(skeletons[at]) and _whole(lines[at])]
            match, begin, end = words.match, len(prefix), len(prefix) + rules.KEY
            found += [
                at
                for at in wanted
                if match(skeletons[at]) and skeletons[at][begin:end] not in starts
            ]
        self._learn(skeletons[wanted[-1]])
        return found

    def _learn(self, skeleton: bytes) -> None:
        """The prefix of one of them, for the next time."""
        found = _SKELETON.match(skeleton) if len(self.prefixes) < _MOST_PREFIXES else None
        if found and found.end() and found[0] not in self.prefixes:
            prefix = re.escape(found[0])
            self.prefixes[found[0]] = re.compile(prefix + _WORDS), re.compile(prefix + _REQUEST)


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
    return not _signed(raw[at:])


def _whole(request: bytes) -> bool:
    """Whether a line that begins a request ends it too, and nothing was printed over it."""
    return request.endswith(_WHOLE) and b"\r" not in request


def _signed(said: bytes) -> bool:
    """Whether it holds, anywhere in it, what only a line that may matter holds.

    Written out, as the cheapest of what was measured: an expression or a loop costs twice that.
    """
    return (
        (
            b": " in said
            and (
                b"error: " in said
                or b"Warning: " in said
                or b"loading shared" in said
                or b": line " in said
                or b" fault" in said
                or b"bad interp" in said
                or b"CUDA cap" in said
                or b"Caught sig" in said
            )
        )
        or (b"(" in said and b"Restarting (" in said)
        or b"OOMKilled" in said
        or b"ackOff" in said
        or b"ack-off" in said
        or (
            b"/" in said
            and (b"/python" in said or b"/sglang: " in said or b"t/s]" in said or b"s/it]" in said)
        )
        or (b'"' in said and (b'File "' in said or b'"POST /' in said))
        or b" [20" in said
        or b"NCCL" in said
        or b"\x1b" in said
        or b"#033[" in said
        or said.endswith((b"last):", b"last):\r"))
        or b"\r" in said[:-1]
        or _names(said)
    )


def _names(said: bytes) -> bool:
    """Whether it begins with the name of an exception."""
    at = said.find(b":", 0, 120)
    if at <= 0 or not said.endswith((b"Error", b"Exception", b"OutOfResources"), 0, at):
        return False
    return said.find(b" ", 0, at) < 0


@functools.lru_cache(maxsize=None)
def _starts() -> frozenset[bytes]:
    every = rules.letters() | phases.LETTERS | set(_BEGINS.split()) | {"Bus "}
    return frozenset(letters.encode() for letters in every)


@functools.lru_cache(maxsize=None)
def _bare_starts() -> frozenset[bytes]:
    """The same of lines without their digits."""
    digits = b"0123456789"
    return frozenset(letters.translate(None, digits) for letters in _starts())
