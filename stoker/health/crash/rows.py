"""The rows of data of the classifier, also where it is one zipped file."""

from __future__ import annotations

import functools
import json
import pkgutil
from typing import Any


@functools.lru_cache(maxsize=None)
def of(table: str) -> tuple[dict[str, Any], ...]:
    """The rows of `data/<table>.yaml`, as `make tables` wrote them; KeyError: no such table."""
    text = pkgutil.get_data("stoker.health.crash", "data/tables.json")
    if text is None:
        raise KeyError(table)
    return tuple(json.loads(text)[table])
