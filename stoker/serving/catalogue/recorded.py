"""The catalogues that `make flags VERSION=...` recorded, one JSON file a version in `data/`."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stoker.serving.catalogue.catalogue import Catalogue, Option
from stoker.serving.catalogue.spelling import spelled
from stoker.serving.versions import key

DATA = Path(__file__).parent / "data"
_NAMES = b'{"names":['
_ENDED = b'\n"env_ended":'


@functools.cache
def versions() -> tuple[str, ...]:
    """Those that were recorded, the oldest first."""
    return tuple(sorted((path.stem for path in DATA.glob("[0-9]*.json")), key=key))


@functools.cache
def load(version: str) -> Catalogue | None:
    """The catalogue of exactly this version; None: it was never recorded."""
    if version not in versions():
        return None
    return catalogue(json.loads(_text(version)))


def nearest(version: str) -> Catalogue:
    """That version's, else the newest older one's, else the oldest there is."""
    older = [known for known in versions() if key(known) <= key(version)]
    found = load(older[-1] if older else versions()[0])
    assert found is not None
    return found


def knowing(name: str) -> tuple[str, ...]:
    """The recorded versions whose parser has an option of this name, the oldest first."""
    return tuple(version for version in versions() if option(version, name))


@functools.cache
def option(version: str, name: str) -> Option | None:
    """The option of a recorded version that has this spelling; None: it has none.

    Reads one line of the file: a whole catalogue for each version would take ten times as long.
    """
    for spelling, pair in ((name, False), (f"--{name.removeprefix('--no-')}", True)):
        line = _line(_text(version), f'"{spelling}"'.encode())
        found = _option(json.loads(line)) if line else None
        if found and (not pair or found.kind == "pair"):
            return found
    return None


def _line(text: bytes, quoted: bytes) -> bytes:
    """The line of the option that has this quoted name among its names; empty: there is none."""
    at = text.find(quoted)
    while at >= 0:
        start, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
        line = text[start:end].rstrip(b",")
        if line.startswith(_NAMES) and quoted in line[: line.index(b"]")]:
            return line
        at = text.find(quoted, end)
    return b""


def reads(version: str, name: str) -> bool:
    """Whether the source of a recorded version reads this environment variable."""
    return b'\n"%s"' % name.encode() in _text(version)


def ended(version: str) -> Mapping[str, str]:
    """The variables that a recorded version only warns of -> what to use."""
    text = _text(version)
    start = text.index(_ENDED) + len(_ENDED)
    return dict(json.loads(text[start : text.index(b"\n", start)]))


@functools.cache
def _text(version: str) -> bytes:
    return (DATA / f"{version}.json").read_bytes()


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
