"""What a unit's file and its environment file say that a diagnosis needs."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MOST_BYTES = 1 << 20


def told(path: str) -> dict[str, str]:
    """The settings of its `[X-Stoker]`; none if there is no such file."""
    _, _, ours = _text(path).partition("\n[X-Stoker]\n")
    return dict(re.findall(r"^([A-Za-z]+)=(.*)$", ours, re.MULTILINE))


def secrets(paths: Sequence[str], names: str) -> list[str]:
    """The values of these names, separated by spaces, in the environment files."""
    text = "\n".join(_text(path) for path in paths)
    found = dict(re.findall(r'^([A-Za-z0-9_]+)="(.*)"$', text, re.MULTILINE))
    values = [re.sub(r"\\(.)", r"\1", found[name]) for name in names.split() if name in found]
    return [value for value in values if value]


def _text(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
