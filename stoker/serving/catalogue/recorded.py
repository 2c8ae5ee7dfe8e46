"""The catalogues that `make flags VERSION=...` recorded, one JSON file a version in `data/`."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stoker.serving.catalogue.catalogue import Catalogue, Option
from stoker.serving.catalogue.ordering import key
from stoker.serving.catalogue.spelling import spelled

DATA = Path(__file__).parent / "data"


@functools.cache
def versions() -> tuple[str, ...]:
    """Those that were recorded, the oldest first."""
    return tuple(sorted((path.stem for path in DATA.glob("[0-9]*.json")), key=key))


@functools.cache
def load(version: str) -> Catalogue | None:
    """The catalogue of exactly this version; None: it was never recorded."""
    if version not in versions():
        return None
    return catalogue(json.loads((DATA / f"{version}.json").read_bytes()))


def nearest(version: str) -> Catalogue:
    """That version's, else the newest older one's, else the oldest there is."""
    older = [known for known in versions() if key(known) <= key(version)]
    found = load(older[-1] if older else versions()[0])
    assert found is not None
    return found


def knowing(name: str) -> tuple[str, ...]:
    """The recorded versions whose parser has an option of this name, the oldest first."""
    return tuple(version for version in versions() if name in names(version))


@functools.cache
def names(version: str) -> frozenset[str]:
    """Every spelling of every option of a recorded version."""
    found = load(version)
    return (
        frozenset(name for option in found.options for name in spelled(option))
        if found
        else frozenset()
    )


def catalogue(document: Mapping[str, Any]) -> Catalogue:
    """Of a document as the extractor makes it."""
    return Catalogue(
        sglang=document["sglang"],
        options=tuple(_option(row) for row in document["options"]),
        env=frozenset(document["env"]),
        env_ended=document["env_ended"],
        digest=document["digest"],
    )


def _option(row: Mapping[str, Any]) -> Option:
    usual = _SWITCH if row.get("kind") == "switch" else _VALUE
    said = {**usual, **row, "names": tuple(row["names"])}
    if said.get("choices") is not None:
        said["choices"] = tuple(said["choices"])
    return Option(**said)


_VALUE: Mapping[str, Any] = {"kind": "value"}
_SWITCH: Mapping[str, Any] = {"type": "bool", "default": False, "const": True}
