"""Small JSON files that are whole or absent."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

from stoker.recovery import files
from stoker.recovery.replacing import replace


def load(path: str) -> Any:
    """The content; None if the file is absent or was cut short."""
    try:
        return json.loads(files.text(path))
    except ValueError:
        return None


def save(path: str, content: Any) -> None:
    """Replace the file, readable by root alone."""
    replace(path, json.dumps(content, indent=1), 0o600)


def remove(path: str) -> None:
    """Away with it, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
