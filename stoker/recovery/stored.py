"""Small JSON files that are whole or absent."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any


def load(path: str) -> Any:
    """The content; None if the file is absent or was cut short."""
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return None


def save(path: str, content: Any) -> None:
    """Replace the file, readable by root alone."""
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    new = f"{path}.{os.getpid()}.new"
    try:
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
            json.dump(content, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(new, path)
    except OSError:
        remove(new)
        raise


def remove(path: str) -> None:
    """Away with it, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
