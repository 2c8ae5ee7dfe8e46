"""A container's configuration out of what the API answers."""

from collections.abc import Iterable, Mapping
from typing import Any

from stoker.container.configuration import Configuration


def configuration(config: Mapping[str, Any], pending: Iterable[Mapping[str, Any]]) -> Configuration:
    """The same from what the API answers to `config?current=1` and to `pending`."""
    keys = {key: str(value) for key, value in config.items() if key not in ("digest", "lxc")}
    waiting = list(pending)
    return Configuration(
        keys=keys,
        raw=tuple((str(name).lower(), str(value)) for name, value in config.get("lxc", ())),
        pending={str(one["key"]): str(one["pending"]) for one in waiting if "pending" in one},
        deletes=tuple(str(one["key"]) for one in waiting if one.get("delete")),
        digest=str(config.get("digest", "")),
    )
