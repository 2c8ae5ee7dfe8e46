"""From what a start printed to what is kept of it: the same text, only its longest blocks cut."""

from __future__ import annotations

import re

_USAGE_KEPT = 8
_ARGUMENTS = re.compile(rb"(server_args=.{200}).{400,}(.{200}[)}]$)", re.MULTILINE)


def kept(raw: bytes, whole: bool) -> tuple[bytes, list[str]]:
    """The log to keep, and what was cut from its middle; `whole`: nothing is."""
    if whole:
        return raw, []
    cut: list[str] = []
    text, count = _ARGUMENTS.subn(rb"\1 ... \2", raw)
    if count:
        cut.append("server_args")
    lines = text.splitlines(keepends=True)
    for begin, end in reversed(usages(lines)):
        if end - begin > 2 * _USAGE_KEPT:
            del lines[begin + _USAGE_KEPT : end - _USAGE_KEPT]
            cut.append("usage")
    return b"".join(lines), cut


def usages(lines: list[bytes]) -> list[tuple[int, int]]:
    """Where argparse prints its usage: first line and the one after the last, from 0."""
    found = []
    for number, line in enumerate(lines):
        if line.startswith(b"usage: "):
            end = number + 1
            while end < len(lines) and lines[end].startswith(b"  "):
                end += 1
            found.append((number, end))
    return found
