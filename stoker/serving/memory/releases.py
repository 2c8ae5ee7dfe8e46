"""What a release of SGLang does where memory is concerned, from rows read in its source."""

import functools
import json
import re
from pathlib import Path
from typing import Any

_ROWS = Path(__file__).parent / "data" / "releases.json"


def has(sglang: str, trait: str) -> bool:
    """Whether this release does what `data/releases.json` calls `trait`.

    A release newer than any that was read is taken for the newest, an older one for the oldest.
    """
    row = _rows()["traits"][trait]
    return _between(sglang, row.get("since", ""), row.get("until", ""))


def lists(sglang: str, listing: str, arch: str | None) -> bool:
    """Whether the release's own list of architectures holds this one; False: arch unknown."""
    row = _rows()["archs"][listing]
    return arch in row and _between(sglang, *row[arch])


def number(sglang: str) -> tuple[int, ...]:
    """`0.5.10.post1` as (0, 5, 10, 1); what is no version: newer than all."""
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)(?:\.?post(\d+))?", sglang.strip())
    return tuple(int(part or 0) for part in found.groups()) if found else (999,)


def _between(sglang: str, since: str, until: str) -> bool:
    release = number(sglang)
    return not (since and release < number(since)) and not (until and release > number(until))


@functools.cache
def _rows() -> dict[str, Any]:
    rows: dict[str, Any] = json.loads(_ROWS.read_text(encoding="utf-8"))
    return rows
