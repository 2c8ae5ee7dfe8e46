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
# What such a line begins with, besides what the rows and the marks of phases begin with.
_BEGINS = (
    "Deco Pref Fata Rece SIGQ SIGT term Subp Grac Trac lxc- NVRM nvcc ptxa gcc: g++: cc1p c++: "
    "ninj nvli usag Fini Kill Segm Abor"
)


def boring(raw: bytes) -> bool:
    """Whether nothing in the line can matter, outside of a traceback."""
    found = _PREFIX.match(raw)
    if found is None or not found.end():
        return False
    at = found.end()
    start = raw[at : at + rules.KEY]
    if start in _starts() or start[:1] == b"[" or not start.strip():
        return False
    return not _signed(raw[at:])


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
            )
        )
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
