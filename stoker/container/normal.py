"""Whether two values of a key mean the same to Proxmox."""

import re
from collections.abc import Callable
from typing import Any

from stoker.container import property_string
from stoker.container.slots import stem_of

_WORDS = re.compile(r"[,; ]+")
_PLAIN: dict[str, tuple[str, Callable[[str], Any]]] = {
    # key -> what its absence means, how a value is read
    "description": ("", str.rstrip),
    "hostname": ("", str.lower),
    "memory": ("512", int),
    "nameserver": ("", lambda text: tuple(_WORDS.split(text.strip()))),
    "onboot": ("0", property_string.truth),
    "protection": ("0", property_string.truth),
    "searchdomain": ("", lambda text: tuple(_WORDS.split(text.strip().lower()))),
    "swap": ("512", int),
    "tags": ("", lambda text: tags(text)),
    "unprivileged": ("0", property_string.truth),
}


def same(key: str, one: str | None, other: str | None) -> bool:
    """None: the key is not there."""
    if one == other:
        return True
    if key in ("features", "startup"):
        one, other = one or "", other or ""
    stem = stem_of(key)
    if stem in property_string.FORMS:
        return None not in (one, other) and property_string.normal(
            stem, one or ""
        ) == property_string.normal(stem, other or "")
    if key in _PLAIN:
        absent, meaning = _PLAIN[key]
        return bool(_read(meaning, one, absent) == _read(meaning, other, absent))
    return False


def tags(text: str) -> frozenset[str]:
    """The tags of a list as Proxmox keeps it, `a;b`, in lower case."""
    return frozenset(word.lower() for word in _WORDS.split(text) if word)


def _read(meaning: Callable[[str], Any], value: str | None, absent: str) -> Any:
    try:
        return meaning(absent if value is None else value)
    except ValueError:
        return value
