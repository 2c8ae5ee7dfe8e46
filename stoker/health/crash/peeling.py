"""One raw line of a log: what it says, and the prefixes that say who said it and when.

Prefixes nest: journald's (short, iso, precise, full, unix, with unit), a container runtime's, the
kernel's, then SGLang's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from stoker.health.crash import inner, outer
from stoker.health.crash.line import PROGRAM, Line

LONGEST = 16_384
"""Characters of a line that are looked at."""
_ANSI = re.compile(
    r"(?:\x1b|#033)\[[0-9;?]{0,24}[A-Za-z]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]"
)


def peel(number: int, raw: bytes, strip: Callable[[str], str] | None = None) -> Line:
    """What the line says; bytes that are no UTF-8 become U+FFFD.

    `strip` takes off what else this log has before each line; None: it has nothing.
    """
    text = raw[: LONGEST * 2].decode("utf-8", "replace")[:LONGEST]
    if text.startswith('{"log":"'):
        text = outer.unpacked(text)
    if "\x1b" in text or "#033[" in text:
        text = _ANSI.sub("", text)
    text = text.rstrip("\r")
    if "\r" in text:
        text = text[text.rindex("\r") + 1 :]
    line = Line(number, text)
    outer.shipped(line)
    outer.spoken(line)
    if line.origin == PROGRAM:
        if strip:
            line.text = strip(line.text)
        inner.said(line)
    return line
