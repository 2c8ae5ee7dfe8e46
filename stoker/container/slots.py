"""The numbers of numbered keys, `dev0`, `mp3`: which one has it, which one is free."""

import re
from collections.abc import Collection, Mapping, Sequence

from stoker.container import property_string
from stoker.refused import Refused

LIMITS = {"dev": 256, "mp": 256, "net": 32}


def stem_of(key: str) -> str:
    """`dev` of `dev0`."""
    return key.rstrip("0123456789")


def order(key: str) -> tuple[str, int]:
    """For sorting: dev2 before dev10."""
    stem = stem_of(key)
    return stem, int(key[len(stem) :] or 0)


def numbered(stem: str, keys: Collection[str]) -> list[str]:
    """The keys of this stem, by number."""
    return sorted((key for key in keys if re.fullmatch(rf"{stem}\d+", key)), key=order)


def find(
    stem: str,
    there: Sequence[Mapping[str, str]],
    field: str,
    value: str,
    besides: Collection[str] = (),
) -> str | None:
    """The first key whose field has this value, in the first of these mappings that has one;
    `besides`: keys that are something else's already."""
    for keys in there:
        for key in numbered(stem, keys):
            if key not in besides and property_string.normal(stem, keys[key]).get(field) == value:
                return key
    return None


def free(stem: str, taken: Sequence[Collection[str]]) -> str:
    """The lowest number that none of these has. Raises Refused where all are taken."""
    for number in range(LIMITS[stem]):
        name = f"{stem}{number}"
        if not any(name in one for one in taken):
            return name
    raise Refused(
        f"cannot give the container one more {stem}N: {stem}0 to {stem}{LIMITS[stem] - 1} are "
        "taken, which is all that Proxmox has; take one away"
    )
