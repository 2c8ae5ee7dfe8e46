"""SGLang's versions: their order, and whether one is in a range.

What is no release (a branch's name, a build from source such as 0.0.0.dev11582) may be anything. It
is taken for the newest where something has to be taken, and is in no range: it refuses nothing.
"""

import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)(?:(rc|\.?post|\.dev)(\d+))?")
_STAGES = {".dev": -2, "rc": -1, None: 0, "post": 1, ".post": 1}
_NEWEST = (1 << 30,)


def is_release(version: str) -> bool:
    """Whether it is one, or a candidate or a later build of one."""
    return key(version)[0] != _NEWEST


def key(version: str) -> tuple[tuple[int, ...], int, int]:
    """Sorts `0.5.9 < 0.5.12rc1 < 0.5.12 < 0.5.12.post1`; what is no release comes last."""
    found = _VERSION.match(version.strip())
    release = tuple(int(part) for part in found[1].split(".")) if found else ()
    if found is None or not any(release):
        return _NEWEST, 0, 0
    return release, _STAGES[found[2]], int(found[3] or 0)


def feature_key(version: str) -> tuple[tuple[int, ...], int, int]:
    """The same for what a version does: a candidate does what its release does."""
    release, stage, number = key(version)
    return (release, 0, 0) if stage < 0 else (release, stage, number)


@functools.cache
def within(version: str, range_: str) -> bool:
    """`range_` as packaging knows it, `>=0.5.12,<0.5.17`; empty: all."""
    from packaging.version import InvalidVersion, Version

    if not range_ or not is_release(version):
        return not range_
    try:
        return Version(version) in specifiers(range_)
    except InvalidVersion:
        return False


@functools.cache
def specifiers(text: str) -> "SpecifierSet":
    """Raises packaging's InvalidSpecifier."""
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(text, prereleases=True)
