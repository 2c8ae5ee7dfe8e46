"""Looks at model directories: names, sizes, configs, headers; never the weights. Run as root.

argv[1]: JSON {"paths": [...], "user": service user or ""}. Prints one JSON object a line and path;
`stoker.serving.weights.directory` says what its keys mean. Python 3.9, standard library only.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import pwd
import re
import struct
import sys
import time
from pathlib import Path
from typing import Any

MOST_FILES = 5000
MOST_HEADER = 100 << 20
"""The format itself allows no more."""
MOST_JSON = 256 << 20
MOST_NAMES = 512
"""Tensors of which name and shape are told; beyond that only those that a draft has to fit."""
TIME_S = 30
_WIDTHS = {
    4: "F4",
    6: "F6_E2M3 F6_E3M2",
    8: "BOOL U8 I8 F8_E4M3 F8_E5M2 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ",
    16: "F16 BF16 I16 U16",
    32: "F32 I32 U32",
    64: "F64 I64 U64 C64",
}
BITS = {name: bits for bits, names in _WIDTHS.items() for name in names.split()}
FITS = ("embed_tokens.weight", "lm_head.weight", "norm.weight", "fc.weight", "d2t")
LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.")
ELSEWHERE = re.compile(r"visual|vision|audio|encoder|projector")
OWN_DRAFT = re.compile(r"(^|\.)(mtp|nextn)\b")
READ = (".safetensors", ".bin", ".pt", ".gguf", ".json", ".model", ".py", ".jinja", ".txt")
POINTER = b"version https://git-lfs.github.com/spec/"
Answer = dict[str, Any]


def header_of(path: Path, size: int) -> tuple[bytes | None, list[Any]]:
    """The JSON bytes of a safetensors file, or what is wrong with the file."""
    with path.open("rb") as file:
        beginning = file.read(512)
        if size < 8:
            return None, ["short" if size else "empty", size]
        if beginning.startswith(POINTER):
            meant = re.search(rb"^size (\d+)", beginning, re.M)
            return None, ["pointer", int(meant.group(1)) if meant else None]
        (length,) = struct.unpack("<Q", beginning[:8])
        if not 2 <= length <= MOST_HEADER:
            return None, ["header", length]
        if 8 + length > size:
            return None, ["short", size]
        file.seek(8)
        return file.read(length), []


def tensors_of(data: bytes) -> dict[str, Any]:
    """Name -> {dtype, shape, data_offsets}; ValueError if this is no header."""
    header = json.loads(data)
    if not isinstance(header, dict):
        raise ValueError("no object")
    header.pop("__metadata__", None)
    for name, one in header.items():
        begin, end = one["data_offsets"]
        bits = BITS.get(one["dtype"])
        sized = bits is None or math.prod(one["shape"]) * bits == (end - begin) * 8
        if not (0 <= begin <= end and sized):
            raise ValueError(name)
    return header


def gap_of(header: dict[str, Any]) -> tuple[int, str | None]:
    """Bytes of all tensors, and the first that does not begin where the one before ended."""
    places = [one["data_offsets"] for one in header.values()]
    end = max((end for _, end in places), default=0)
    if sum(end - begin for begin, end in places) == end:
        return end, None
    at = 0
    for name, one in sorted(header.items(), key=lambda item: tuple(item[1]["data_offsets"])):
        if one["data_offsets"][0] != at:
            return at, name
        at = one["data_offsets"][1]
    return at, None


def shard(path: Path, told: Answer, names: dict[str, str]) -> Answer:
    """One safetensors file; its tensors go into `told` and `names` (tensor -> file)."""
    size = path.stat().st_size
    row: Answer = {"size": size, "problem": None, "header": None, "bytes": 0}
    data, problem = header_of(path, size)
    if data is None:
        return dict(row, problem=problem)
    row["header"] = hashlib.sha256(data).hexdigest()
    try:
        header = tensors_of(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return dict(row, problem=["header", len(data)])
    row["bytes"], gap = gap_of(header)
    if gap is not None:
        return dict(row, problem=["gap", gap])
    if row["bytes"] + 8 + len(data) != size:
        return dict(row, problem=["size", row["bytes"] + 8 + len(data)])
    names.update(dict.fromkeys(header, path.name))
    left = max(0, MOST_NAMES - len(told["tensors"]))
    first, rest = list(header)[:left], list(header)[left:]
    told["tensors"].update((tensor, header[tensor]["shape"]) for tensor in first)
    fit = [tensor for tensor in rest if tensor.endswith(FITS)]
    told["tensors"].update((tensor, header[tensor]["shape"]) for tensor in fit[:MOST_NAMES])
    return row


def read_json(path: Path, most: int = MOST_JSON) -> Any:
    """What the file holds; None: there is none; a string: why it cannot be read."""
    try:
        if path.exists() and not path.is_file():
            # Reading a pipe would wait for ever.
            return "is no file"
        if path.stat().st_size > most:
            return "is larger than it can be"
        held = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        return getattr(error, "strerror", None) or "is not JSON"
    return held if isinstance(held, dict) else "is not a JSON object"


def think_end(tokenizer: Any, settings: Any) -> int | None:
    """Into how many tokens `</think>` is cut, as far as the files say so without being run."""
    whole = tokenizer if isinstance(tokenizer, dict) else {}
    later = settings.get("added_tokens_decoder") if isinstance(settings, dict) else None
    added = [*(whole.get("added_tokens") or []), *(later or {}).values()]
    if any(isinstance(one, dict) and one.get("content") == "</think>" for one in added):
        return 1
    model = whole.get("model") or {}
    words = model.get("vocab")
    if model.get("type") != "BPE" or not isinstance(words, dict) or "</think>" in words:
        return None
    return 3 if {"</", "think", ">"} <= set(words) else 2


def unreadable(paths: list[Path], user: str) -> list[str] | None:
    """Those that this user may not read, asked of the kernel; None: there is no such user."""
    try:
        known = pwd.getpwnam(user)
    except KeyError:
        return None
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups(os.getgrouplist(user, known.pw_gid))
            os.setgid(known.pw_gid)
            os.setuid(known.pw_uid)
            barred = [str(path) for path in paths if not os.access(path, os.R_OK)]
            os.write(writing, json.dumps(barred[:20]).encode()[:60000])
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    return list(json.loads(said)) if said else None


def weights(path: Path, told: Answer, deadline: float) -> dict[str, str]:
    """Every safetensors file's row; which tensor lies in which file."""
    held: dict[str, str] = {}
    for name in sorted(name for name in told["files"] if name.endswith(".safetensors")):
        if time.monotonic() > deadline:
            told["cut"] = True
            break
        try:
            told["shards"][name] = shard(path / name, told, held)
        except OSError as error:
            told["shards"][name] = {"size": 0, "problem": ["unreadable", error.strerror]}
    # A layer's experts differ in their number alone: one name of each layer is enough.
    begins = {tensor.partition(".experts.")[0] for tensor in held}
    trunk = [begin for begin in begins if not ELSEWHERE.search(begin)]
    layers = [int(found.group(1)) for found in map(LAYER.search, trunk) if found]
    told["deepest"] = max(layers, default=None)
    told["own_draft"] = any(OWN_DRAFT.search(begin) for begin in trunk)
    told["named"] = len(held)
    return held


def index(path: Path, told: Answer, held: dict[str, str]) -> None:
    """The files that the index names, and its tensors that are in none of the sound ones."""
    read = read_json(path / "model.safetensors.index.json")
    wanted = read.get("weight_map") if isinstance(read, dict) else None
    if isinstance(wanted, dict):
        told["index"] = sorted({str(name) for name in wanted.values()})
        sound = {name for name, row in told["shards"].items() if not row["problem"]}
        placed = {t: str(name) for t, name in wanted.items()}
        absent = sorted(t for t, name in placed.items() if name in sound and held.get(t) != name)
        told["absent"] = [len(absent), *absent[:3]]
    elif read is not None:
        told["index_error"] = read if isinstance(read, str) else "has no weight_map"


def tokens(path: Path, told: Answer) -> None:
    """What the tokenizer's files say."""
    settings = read_json(path / "tokenizer_config.json", 64 << 20)
    whole = read_json(path / "tokenizer.json")
    told["remote_tokenizer"] = isinstance(settings, dict) and "auto_map" in settings
    told["tokenizer_error"] = whole if isinstance(whole, str) else None
    try:
        told["think_end"] = think_end(whole, settings)
    except (TypeError, AttributeError):
        told["think_end"] = None


def look(path: Path, user: str) -> Answer:
    """All that is told of one directory."""
    told: Answer = {"path": str(path), "kind": "absent", "files": {}, "shards": {}, "tensors": {}}
    if not path.is_dir():
        return dict(told, kind="file" if path.exists() else "absent")
    told["kind"] = "directory"
    seen = sorted(path.iterdir())[:MOST_FILES]
    told["files"] = {one.name: one.stat().st_size for one in seen if one.is_file()}
    told["config"] = read_json(path / "config.json", 16 << 20)
    told["quant"] = read_json(path / "hf_quant_config.json", 16 << 20)
    tokens(path, told)
    index(path, told, weights(path, told, time.monotonic() + TIME_S))
    told["unfinished"] = sum(
        one.name.endswith(".incomplete")
        for one in [*seen, *(path / ".cache" / "huggingface" / "download").glob("*")]
    )
    inside = [path / name for name in told["files"] if name.endswith(READ)]
    told["unreadable"] = unreadable([path, *inside], user) if user and not os.geteuid() else None
    return told


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    for one in asked["paths"]:
        try:
            answer = look(Path(one), asked["user"])
        except OSError as error:
            answer = {"path": one, "kind": "unreadable", "error": error.strerror}
        print(json.dumps(answer), flush=True)
