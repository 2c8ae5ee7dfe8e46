"""Model directories under /srv/models: a tiny Llama, whole and damaged in every way."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stoker.sandbox import tiny_model
from tests.health.crash.provoke import world


def whole(name: str) -> Path:
    path = world.MODELS / name
    path.mkdir(parents=True, exist_ok=True)
    for file, content in tiny_model.files().items():
        (path / file).write_bytes(content)
    return path


def edited(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """config.json with that change."""
    config = json.loads((path / "config.json").read_text())
    change(config)
    (path / "config.json").write_text(json.dumps(config, indent=1))
    return path


def tensors_of(content: bytes) -> dict[str, tuple[str, list[int], bytes]]:
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    data = content[8 + length :]
    return {
        name: (row["dtype"], row["shape"], data[slice(*row["data_offsets"])])
        for name, row in header.items()
    }


def stored(tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, (kind, shape, content) in tensors.items():
        span = [len(data), len(data) + len(content)]
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": span}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def sharded(name: str) -> Path:
    """The same weights in three shards with an index."""
    path = whole(name)
    tensors = tensors_of((path / "model.safetensors").read_bytes())
    (path / "model.safetensors").unlink()
    parts: list[dict[str, tuple[str, list[int], bytes]]] = [{}, {}, {}]
    index = {}
    for number, (tensor, row) in enumerate(tensors.items()):
        part = number * 3 // len(tensors)
        parts[part][tensor] = row
        index[tensor] = f"model-{part + 1:05d}-of-00003.safetensors"
    for number, rows in enumerate(parts, 1):
        (path / f"model-{number:05d}-of-00003.safetensors").write_bytes(stored(rows))
    text = json.dumps({"metadata": {"total_size": 1}, "weight_map": index})
    (path / "model.safetensors.index.json").write_text(text)
    return path


def renamed(path: Path, old: str, new: str) -> Path:
    """Every tensor whose name has `old` called otherwise."""
    file = path / "model.safetensors"
    tensors = tensors_of(file.read_bytes())
    file.write_bytes(stored({name.replace(old, new): row for name, row in tensors.items()}))
    return path
