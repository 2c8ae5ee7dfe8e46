"""The keys of a configuration that stand once and are changed as a whole or in part."""

from collections.abc import Callable
from typing import Any

from stoker.container import property_string
from stoker.container.normal import tags
from stoker.container.property_string import Edit
from stoker.container.wanted import Features, Startup, Wanted

_WORDS: dict[str, tuple[str, Callable[[Any], str]]] = {
    # key of the data -> Proxmox's key, how the value is written
    "cores": ("cores", str),
    "description": ("description", str),
    "hostname": ("hostname", str),
    "memory_mib": ("memory", str),
    "nameserver": ("nameserver", str),
    "onboot": ("onboot", lambda on: str(int(on))),
    "protection": ("protection", lambda on: str(int(on))),
    "searchdomain": ("searchdomain", str),
    "swap_mib": ("swap", str),
}


def edits(wanted: Wanted) -> dict[str, Edit]:
    """Key -> what its value becomes."""
    found: dict[str, Edit] = {}
    for name, (key, write) in _WORDS.items():
        value = getattr(wanted, name)
        if value is not None:
            found[key] = _always(write(value))
    if wanted.features:
        found["features"] = property_string.merging("features", _features(wanted.features))
    if wanted.startup:
        found["startup"] = property_string.merging("startup", _startup(wanted.startup))
    if wanted.tags:
        found["tags"] = lambda text: _with_tags(text or "", wanted.tags)
    return found


def _always(value: str) -> Edit:
    return lambda _before: value


def _features(features: Features) -> dict[str, str]:
    said = {key: value for key, value in features if value is not None}
    return {
        key: ";".join(value) if isinstance(value, tuple) else str(int(value))
        for key, value in said.items()
    }


def _startup(startup: Startup) -> dict[str, str]:
    said = {"order": startup.order, "up": startup.up_s, "down": startup.down_s}
    return {key: str(value) for key, value in said.items() if value is not None}


def _with_tags(text: str, ours: tuple[str, ...]) -> str:
    there = [word for word in text.replace(",", ";").replace(" ", ";").split(";") if word]
    missing = [tag for tag in dict.fromkeys(ours) if tag not in tags(text)]
    return ";".join([*there, *missing]) if missing else text
