"""Everything that one SGLang version knows, as one document."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Dict, Iterator, List

from stoker.serving.catalogue.extracting import calls, environment, fields, source
from stoker.serving.catalogue.extracting.classes import Klass
from stoker.serving.catalogue.extracting.literals import Reader
from stoker.serving.catalogue.extracting.modules import Modules, within
from stoker.serving.catalogue.extracting.row import Row, literal

Document = Dict[str, Any]


def extracted(path: Path) -> Document:
    """The catalogue of the SGLang at `path`: a wheel, a tree or site-packages.

    Raises NoSglang where there is none, SyntaxError for source that this Python cannot read.
    """
    opened = source.opened(path)
    version = source.version(opened)
    read, ended = environment.variables(opened)
    document = {
        "sglang": version,
        "options": sorted(options(Modules(opened)), key=lambda row: str(row["names"])),
        "env": sorted(read),
        "env_ended": dict(sorted(ended.items())),
    }
    return {"sglang": version, "digest": digest(document), **document}


def options(modules: Modules) -> List[Row]:
    """Of both ways to write them; the first row of a name counts, as in argparse it must."""
    found: Dict[str, Row] = {}
    classes = list(fields.classes(modules))
    for row in _options(modules, classes):
        if row["names"][0] not in found:
            found[row["names"][0]] = _declared(modules, classes, row)
    if not found:
        raise source.NoSglang("no options in sglang/srt/server_args.py")
    return list(found.values())


def _options(modules: Modules, classes: List[Klass]) -> Iterator[Row]:
    for klass in classes:
        yield from fields.options(modules, klass)
        for node in klass.node.body:
            if getattr(node, "name", "") == "add_cli_args":
                yield from calls.options(Reader(modules, within(klass.module, node)), node)


def _declared(modules: Modules, classes: List[Klass], row: Row) -> Row:
    """A call may leave its default to the field of the same name."""
    if "default" in row or "deprecated" in row or row.get("kind") == "switch":
        return row
    for klass in classes:
        if klass.has(row["dest"]):
            value = literal(Reader(modules, klass.module), klass.attribute(row["dest"]))
            return row if value is None else {**row, "default": value}
    return row


def digest(document: Document) -> str:
    """SHA-256 of what was found, the same for the same SGLang wherever it is read."""
    kept = {key: document[key] for key in ("sglang", "options", "env", "env_ended")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def lines(document: Document) -> str:
    """As it is kept: JSON with one option or variable a line."""
    parts: List[str] = []
    for key, value in document.items():
        if isinstance(value, list):
            rows = ",\n".join(json.dumps(item, separators=(",", ":")) for item in value)
            parts.append(f'"{key}":[\n{rows}\n]')
        else:
            parts.append(f'"{key}":{json.dumps(value, separators=(",", ":"))}')
    return "{\n" + ",\n".join(parts) + "\n}\n"
