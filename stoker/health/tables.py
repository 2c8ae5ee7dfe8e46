"""The rows of data that came with this program, also where it is one zipped file."""

from __future__ import annotations

import functools
import json
import pkgutil
from typing import Any


@functools.lru_cache(maxsize=None)
def rows(table: str, package: str = "stoker.health") -> tuple[dict[str, Any], ...]:
    """The rows of the package's `data/<table>.yaml`, as `make tables` wrote them.

    KeyError: no such table.
    """
    text = pkgutil.get_data(package, "data/tables.json")
    if text is None:
        raise KeyError(table)
    return tuple(json.loads(text)[table])
