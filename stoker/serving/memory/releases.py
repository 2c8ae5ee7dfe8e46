"""What a release of SGLang does where memory is concerned, from rows read in its source."""

import functools
import json
from pathlib import Path
from typing import Any

from stoker.serving.versions import feature_key

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


def _between(sglang: str, since: str, until: str) -> bool:
    release = feature_key(sglang)
    too_old = since and release < feature_key(since)
    return not too_old and not (until and release > feature_key(until))


@functools.cache
def _rows() -> dict[str, Any]:
    rows: dict[str, Any] = json.loads(_ROWS.read_text(encoding="utf-8"))
    return rows
