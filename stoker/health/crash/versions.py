"""SGLang's versions, and the ranges of them that print a text.

Newer than 0.5.9 is 0.5.12; 0.5.12rc1 is older than 0.5.12, and 0.5.12.post1 newer.
"""

from __future__ import annotations

import functools
import re
from typing import Optional, Tuple

ANY = "any"
"""The range of a text that is not SGLang's own, or that no known version lacks."""
_RELEASE = re.compile(r"v?(\d{1,6}(?:\.\d{1,6}){1,4})(?![\d])")
_SUFFIX = re.compile(r"[._-]?(dev|alpha|beta|rc|post|a|b|c)[._-]?(\d{0,9})")
_ORDER = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "c": -1, "rc": -1, "post": 1}
_BOUND = re.compile(r"(>=|<=|>|<)(\S{1,40})")
_END = (0, 0)

Key = Tuple[Tuple[int, ...], Tuple[Tuple[int, int], ...]]
Bounds = Tuple[Tuple[str, Key], ...]


@functools.lru_cache(maxsize=64)
def key(version: str) -> Optional[Key]:
    """What versions are compared by; None: it is none, or 0.0.0, which a checkout says."""
    found = _RELEASE.match(version.strip())
    if not found:
        return None
    release = [int(part) for part in found[1].split(".")]
    while release and release[-1] == 0:
        release.pop()
    if not release:
        return None
    suffixes, rest = [], version.strip()[found.end() :].partition("+")[0]
    for suffix in _SUFFIX.finditer(rest):
        suffixes.append((_ORDER[suffix[1]], int(suffix[2] or 0)))
    return tuple(release), (*suffixes, _END)


def bounds(text: str) -> Bounds:
    """Of `>0.5.9,<0.5.18`; none of `any`. ValueError: it is no range."""
    if text == ANY:
        return ()
    read = []
    for part in text.split(","):
        found = _BOUND.fullmatch(part)
        limit = key(found[2]) if found else None
        if not found or limit is None:
            raise ValueError(f"{part!r} is no bound such as >=0.5.12")
        read.append((found[1], limit))
    return tuple(read)


def within(limits: Bounds, version: str) -> bool:
    """Whether that version may be one of the range; one that is not known may be any."""
    known = key(version) if limits else None
    return known is None or all(_meets(known, how, limit) for how, limit in limits)


def _meets(known: Key, how: str, limit: Key) -> bool:
    if how == ">=":
        return known >= limit
    if how == "<=":
        return known <= limit
    return known > limit if how == ">" else known < limit
