"""The classifier's own rows of data."""

from __future__ import annotations

from typing import Any

from stoker.health import tables


def of(table: str) -> tuple[dict[str, Any], ...]:
    """The rows of `data/<table>.yaml` beside this file, see `tables.rows`."""
    return tables.rows(table, __package__ or "")
