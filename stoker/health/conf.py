"""A container's configuration file, `/etc/pve/lxc/<vmid>.conf`: the part that holds now.

`key: value` lines and raw `lxc.*` lines; the first `[pve:pending]` or `[snapshot]` ends it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SECTION = re.compile(r"\[[^\]]+\]\s*")
_RAW = re.compile(r"(lxc\.[a-z0-9_.-]+)(?:\s*:\s*|\s*=\s*)(.*)", re.IGNORECASE)
_PLAIN = re.compile(r"([a-z][a-z_]*\d*):\s*(.*)")


@dataclass(frozen=True)
class Conf:
    """What holds now."""

    keys: dict[str, str]
    """Of a key that stands twice, the last."""
    raw: tuple[tuple[str, str], ...]
    """Name, in lower case, and value of each `lxc.*` line, in order."""


def live(text: str) -> Conf:
    """The part of the file that holds now; a line that is nothing is left out."""
    keys: dict[str, str] = {}
    raw = []
    for line in text.split("\n"):
        if _SECTION.fullmatch(line):
            break
        lxc, plain = _RAW.fullmatch(line), _PLAIN.fullmatch(line)
        if lxc:
            raw.append((lxc[1].lower(), lxc[2].strip()))
        elif plain:
            keys[plain[1]] = plain[2].strip()
    return Conf(keys, tuple(raw))


def properties(text: str, first: str) -> dict[str, str]:
    """A value of several parts, `/dev/x,mode=0666`, by name; `first` names the bare one."""
    parts = (part.partition("=") for part in text.split(",") if part)
    return {
        (name if equals else first): (value if equals else name) for name, equals, value in parts
    }
