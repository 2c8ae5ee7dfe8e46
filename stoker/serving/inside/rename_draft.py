"""Makes a copy of a draft model whose tensors have the names that SGLang loads. Run as root.

argv[1]: JSON {"source", "destination", "act"}. Prints one JSON object: {"state", "renamed",
"error"}; state is what is there, `right`, `unswept` (right, and a run that died left something
beside it), `stale` (the source has changed since), `absent`, or `foreign`. With `act` it is made
right, or the script ends with 1 and says why. The copy appears whole: it is made beside its place,
synced, then renamed. Python 3.9, standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import struct
import sys
from pathlib import Path
from typing import Any

MARK = ".stoker-renamed"
INDEX = "model.safetensors.index.json"
MOST_HEADER = 100 << 20
SPARE_BYTES = 64 << 20
OF_A_LAYER = re.compile(
    r"^((?:\w+\.)*?)(?:layers\.(\d+)|midlayer)\."
    r"(?:self_attn|mlp|hidden_norm|input_layernorm|post_attention_layernorm)\."
)
OTHER_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".incomplete")


class NotRenamedError(Exception):
    """What is in the way, and what to do."""


def names_of(keys: list[str]) -> dict[str, str]:
    """Old name -> new: the layer is `midlayer`, and nothing stands before it or the rest."""
    found = [match for match in map(OF_A_LAYER.match, keys) if match]
    begins = sorted({match.group(1) for match in found})
    if len(begins) != 1:
        told = ", ".join(f"{begin}*" for begin in begins) or "none"
        raise NotRenamedError(f"its layer's tensors have no one beginning ({told}); rename by hand")
    if any(match.group(2) not in (None, "0") for match in found):
        raise NotRenamedError("it has more than one layer; only a draft of one can be renamed")
    begin = begins[0]
    layer = re.compile(rf"^{re.escape(begin)}layers\.0\.")
    new = {key: layer.sub("midlayer.", key) for key in keys}
    new = {old: key[len(begin) :] if key.startswith(begin) else key for old, key in new.items()}
    if len(set(new.values())) < len(new):
        twice = sorted(key for key in new.values() if list(new.values()).count(key) > 1)
        raise NotRenamedError(f"two of its tensors would be named {twice[0]}; rename by hand")
    if all(old == key for old, key in new.items()):
        raise NotRenamedError(
            "its tensors have the right names; name it as speculative-draft-model-path itself"
        )
    return new


def header_of(path: Path) -> dict[str, Any]:
    """The header of a safetensors file that is as long as it says."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= min(MOST_HEADER, size - 8):
            raise NotRenamedError(f"{path.name} has no safetensors header; fetch it again")
        try:
            header = json.loads(file.read(length))
            ends = [one["data_offsets"][1] for key, one in header.items() if key[:2] != "__"]
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            raise NotRenamedError(
                f"{path.name} has no safetensors header; fetch it again"
            ) from None
    if max(ends, default=0) + 8 + length != size:
        raise NotRenamedError(f"{path.name} is not as long as its header says; fetch it again")
    return dict(header, __length__=8 + length)


def headers_of(source: Path) -> dict[str, dict[str, Any]]:
    """File name -> header, of every shard; those that an index names must all be there."""
    found = sorted(source.glob("*.safetensors"))
    if not found:
        raise NotRenamedError("there is no *.safetensors in it; correct the path")
    if (source / INDEX).is_file():
        named = set(json.loads((source / INDEX).read_bytes())["weight_map"].values())
        if absent := sorted(named - {path.name for path in found}):
            raise NotRenamedError(
                f"its index names {absent[0]}, which is not there; fetch it again"
            )
        found = [path for path in found if path.name in named]
    return {path.name: header_of(path) for path in found}


def digest_of(source: Path) -> str:
    """Of names, sizes and times of all files: the same digest, nothing was written there since."""
    rows = [
        (path.name, path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(source.iterdir())
        if path.is_file()
    ]
    return hashlib.sha256(json.dumps([str(source), rows]).encode()).hexdigest()


def written(old: Path, new: Path, header: dict[str, Any], names: dict[str, str]) -> None:
    """The same tensors under other names: another header, the same bytes behind it."""
    begin = header["__length__"]
    kept = {key: one for key, one in header.items() if key != "__length__"}
    text = json.dumps({names.get(key, key): one for key, one in kept.items()}).encode()
    text += b" " * (-len(text) % 8)
    with old.open("rb") as read, new.open("wb") as write:
        write.write(struct.pack("<Q", len(text)) + text)
        read.seek(begin)
        shutil.copyfileobj(read, write, 16 << 20)
    if new.stat().st_size - 8 - len(text) != old.stat().st_size - begin:
        raise NotRenamedError(f"{old.name} changed while it was read; run again")


def synced(path: Path) -> None:
    """What lies there survives a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def filled(source: Path, partial: Path, headers: dict[str, Any], names: dict[str, str]) -> None:
    """Everything the copy holds, its mark last."""
    digest = digest_of(source)
    for path in sorted(source.iterdir()):
        if path.name in headers:
            written(path, partial / path.name, headers[path.name], names)
        elif path.name == INDEX:
            index = json.loads(path.read_bytes())
            index["weight_map"] = {names[k]: file for k, file in index["weight_map"].items()}
            (partial / INDEX).write_text(json.dumps(index, indent=2))
        elif path.is_file() and not path.name.endswith(OTHER_WEIGHTS) and path.name != MARK:
            shutil.copyfile(path, partial / path.name)
    if digest_of(source) != digest:
        raise NotRenamedError("it changed while it was read; run again")
    (partial / MARK).write_text(json.dumps({"source": str(source), "digest": digest}))
    for path in [*partial.iterdir(), partial]:
        synced(path)


def state_of(source: Path, destination: Path) -> str:
    """right, stale, absent or foreign. A copy outlives its source."""
    if destination.is_symlink():
        return "foreign"
    if not destination.exists():
        return "absent"
    try:
        mark = json.loads((destination / MARK).read_bytes())
        if not source.is_dir():
            return "right" if mark["source"] == str(source) else "stale"
        return "right" if mark["digest"] == digest_of(source) else "stale"
    except (OSError, ValueError, KeyError, TypeError):
        return "foreign"


def examined(source: Path, destination: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Headers and new names, if nothing is in the way."""
    if not source.is_dir():
        raise NotRenamedError("there is no such directory; correct `draft.renamed_from`")
    if state_of(source, destination) == "foreign":
        raise NotRenamedError(f"{destination} is there and is not ours; name another directory")
    headers = headers_of(source)
    keys = [key for header in headers.values() for key in header if key[:2] != "__"]
    return headers, names_of(keys)


def room(source: Path, destination: Path) -> None:
    """The copy fits beside what is there."""
    need = sum(path.stat().st_size for path in source.glob("*.safetensors")) + SPARE_BYTES
    near = next(path for path in destination.parents if path.is_dir())
    free = shutil.disk_usage(near).free
    if free < need:
        raise NotRenamedError(
            f"the copy needs {need / 1e9:.2f} GB, {near} has {free / 1e9:.2f} GB free; make room"
        )


def beside(destination: Path) -> list[Path]:
    """Where the copy is made, and where the one before it waits to be removed."""
    return [destination.with_name(f".{destination.name}.stoker-{end}") for end in ("new", "old")]


def swept(destination: Path) -> None:
    """What a run that died left beside it: the copy before it, if between its two renames."""
    partial, old = beside(destination)
    if not destination.exists() and (old / MARK).is_file():
        old.rename(destination)
    for left in (partial, old):
        shutil.rmtree(left, ignore_errors=True)


def made(source: Path, destination: Path, headers: dict[str, Any], names: dict[str, str]) -> None:
    """The copy in its place, which `swept` has cleared."""
    partial, old = beside(destination)
    destination.parent.mkdir(parents=True, exist_ok=True)
    room(source, destination)
    partial.mkdir()
    filled(source, partial, headers, names)
    if destination.exists():
        destination.rename(old)
    partial.rename(destination)
    synced(destination.parent)
    shutil.rmtree(old, ignore_errors=True)


def main(source: Path, destination: Path, act: bool) -> dict[str, Any]:
    """What is there, and with `act` what is there afterwards."""
    if act:
        os.umask(0o022)
        swept(destination)
    state = state_of(source, destination)
    if state == "right":
        state = "unswept" if any(left.exists() for left in beside(destination)) else state
        return {"state": state, "renamed": 0, "error": None}
    try:
        headers, names = examined(source, destination)
        if act:
            made(source, destination, headers, names)
            state = "right"
        else:
            room(source, destination)
    except (NotRenamedError, OSError, ValueError, KeyError) as error:
        why = str(error) if isinstance(error, NotRenamedError) else f"{error}; see its files"
        return {"state": state, "renamed": 0, "error": f"cannot rename {source}: {why}"}
    changed = sum(old != new for old, new in names.items())
    return {"state": state, "renamed": changed, "error": None}


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    said = main(Path(asked["source"]), Path(asked["destination"]), asked["act"])
    if asked["act"] and said["error"]:
        sys.exit(said["error"])
    print(json.dumps(said))
