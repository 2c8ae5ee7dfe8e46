"""Whether an SGLang version is in a range."""

import functools

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version


@functools.cache
def within(sglang: str, range_: str) -> bool:
    """`range_` as packaging knows it, `>=0.5.12,<0.5.17`; a version that is none is in no range."""
    try:
        return Version(sglang) in SpecifierSet(range_, prereleases=True)
    except InvalidVersion:
        return False
