"""The package's own rows: what an architecture means, and what each draft model must be."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stoker.serving import document
from stoker.serving.versions import feature_key

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class DraftRow:
    """A draft architecture over a range of SGLang versions."""

    architecture: str
    since: str
    algorithms: tuple[str, ...]
    prefixes: tuple[str, ...]
    """Of the names of its layer's tensors; empty: nobody wrote down which it takes."""
    source: str
    before: str | None = None
    absent: str | None = None
    """The newest recorded version without it."""
    one_layer: bool = False
    target_sized: bool = True
    """It reads the target's hidden states and embeddings as they are."""

    def holds(self, sglang: str) -> bool:
        """Whether it is about this version."""
        version = feature_key(sglang)
        ended = self.before is not None and version >= feature_key(self.before)
        return not ended and version >= feature_key(self.since)

    def lacked_by(self, sglang: str) -> bool:
        """Whether this version is known not to have the architecture."""
        return self.absent is not None and feature_key(sglang) <= feature_key(self.absent)


@functools.cache
def drafts() -> tuple[DraftRow, ...]:
    """The rows of data/drafts.yaml. Raises TypeError on an unknown or missing key."""
    rows, _ = document.read((DATA / "drafts.yaml").read_text(encoding="utf-8"))
    lists = ("algorithms", "prefixes")
    return tuple(DraftRow(**row | {key: tuple(row[key]) for key in lists}) for row in rows)


@functools.cache
def named(list_name: str) -> frozenset[str]:
    """Architectures of this list of data/architectures.yaml."""
    return frozenset(_architectures()[list_name]["names"])


@functools.cache
def valued(list_name: str) -> dict[str, int | str]:
    """Architecture or model_type -> value, of this list of data/architectures.yaml."""
    return dict(_architectures()[list_name]["values"])


@functools.cache
def _architectures() -> dict[str, Any]:
    rows, _ = document.read((DATA / "architectures.yaml").read_text(encoding="utf-8"))
    return dict(rows)
