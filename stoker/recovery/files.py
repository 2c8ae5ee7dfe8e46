"""Small files of the kernel's trees: absent and unreadable ones give an empty answer."""

from __future__ import annotations

import os


def text(path: str, limit: int = 1 << 20) -> str:
    """The first `limit` bytes of the file as text; empty if it is absent or cannot be read."""
    try:
        with open(path, "rb") as stream:
            return stream.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""


def names(directory: str) -> list[str]:
    """Names in the directory, sorted; none if it is absent or cannot be read."""
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def link(path: str) -> str:
    """Where the symbolic link points, unresolved; empty if it is none."""
    try:
        return os.readlink(path)
    except OSError:
        return ""
