"""A model's directory as `inside/model_files.py` tells of it: one JSON object, made into facts."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stoker.serving.checking.model import Model
from stoker.serving.weights import config
from stoker.serving.weights.files import Draft, Files
from stoker.serving.weights.wording import listed

_NUMBERED = re.compile(r"(.*-)(\d{5})(-of-)(\d{5})(\.safetensors)$")
_OTHER_WEIGHTS = (".bin", ".pt", ".pth", ".gguf")
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tiktoken.model", "tekken.json", "spiece.model")


@dataclass(frozen=True)
class Directory:
    """What lies there, taken as a model and as a draft."""

    files: Files
    model: Model | None
    draft: Draft


def read(told: Mapping[str, Any]) -> Directory:
    """The facts of one directory. A file, or what could not be looked at, says nothing."""
    path = str(told.get("path", ""))
    if told.get("kind") != "directory":
        files = Files(path=path, exists=False if told.get("kind") == "absent" else None)
        return Directory(files, None, Draft(files))
    files = _files(path, told)
    document = told["config"] if isinstance(told["config"], dict) else None
    model = config.model(document, _held(told), told.get("quant")) if document else None
    return Directory(files, model, _draft(files, model, document or {}, told))


def _files(path: str, told: Mapping[str, Any]) -> Files:
    wanted = _wanted(told)
    return Files(
        path=path,
        exists=True,
        index_shards=wanted,
        present=None if wanted is None else tuple(n for n in wanted if told["files"].get(n)),
        broken=tuple(_broken(told, wanted)),
        tokenizer=_tokenizer(told["files"]),
        think_end_tokens=told["think_end"],
        revision=None if told.get("cut") else _revision(told),
        config=isinstance(told["config"], dict),
        remote_tokenizer=bool(told["remote_tokenizer"]) and "tokenizer.json" not in told["files"],
        unfinished=told["unfinished"],
        size_bytes=sum(told["files"].values()),
    )


def _wanted(told: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The shards that make the model; None where the weights are of another format."""
    if told.get("index"):
        return tuple(told["index"])
    shards = [name for name in told["files"] if name.endswith(".safetensors")]
    if not shards:
        return None if any(n.endswith(_OTHER_WEIGHTS) for n in told["files"]) else ()
    # Without an index SGLang loads all that is there; only the names say what is not.
    names = set(shards)
    for name in shards:
        if found := _NUMBERED.match(name):
            begin, _, of, count, end = found.groups()
            if int(count) <= 9999:
                names |= {f"{begin}{i:05}{of}{count}{end}" for i in range(1, int(count) + 1)}
    return tuple(sorted(names))


def _loaded(told: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of the files that SGLang would load: those of the index, if there is one."""
    named = told.get("index")
    return {n: row for n, row in told["shards"].items() if not named or n in named}


def _broken(told: Mapping[str, Any], wanted: tuple[str, ...] | None) -> Iterator[str]:
    for name, row in sorted(_loaded(told).items()):
        if row["problem"]:
            yield f"{name} {_problem(row['problem'], row['size'])}"
    if told.get("index_error"):
        yield f"model.safetensors.index.json {told['index_error']}"
    if told.get("tokenizer_error"):
        yield f"tokenizer.json {told['tokenizer_error']}"
    count, *names = told.get("absent") or [0]
    if count:
        yield f"{count} tensor(s) of the index are in none of its files: {listed(names, count)}"
    if wanted == ():
        yield "there are no weights in it"
    whole = [name for name in told["shards"] if name.startswith("consolidated")]
    if not told.get("index") and whole and len(told["shards"]) - len(whole) > 1:
        yield f"{listed(whole)} is there beside the shards, and no index says which to load"
    if told.get("unreadable"):
        names = [str(name).rpartition("/")[2] for name in told["unreadable"]]
        yield f"the servers' user cannot read {listed(names)}"


def _problem(problem: list[Any], size: int) -> str:
    kind, figure = problem
    if kind == "pointer":
        real = "" if figure is None else f" of {figure / 1e9:.2f} GB"
        return f"is a Git LFS pointer, not the file{real} that it stands for"
    if kind == "size" and size < figure:
        return f"is cut short: {size:,} of {figure:,} bytes"
    return {
        "empty": "is empty",
        "short": f"is cut short in its header, after {size:,} bytes",
        "header": "has no safetensors header",
        "gap": f"has a header that leaves a hole before {figure}",
        "size": f"has {size:,} bytes, its header speaks of {figure}",
        "unreadable": f"cannot be read: {figure}",
    }[kind]


def _tokenizer(files: Mapping[str, int]) -> bool:
    pair = "vocab.json" in files and "merges.txt" in files
    return pair or "vocab.txt" in files or any(name.endswith(_TOKENIZERS) for name in files)


def _revision(told: Mapping[str, Any]) -> str:
    """Of what decides what is served: the config, and every loaded file's size and header."""
    rows = {name: [row["size"], row["header"]] for name, row in _loaded(told).items()}
    others = {n: s for n, s in told["files"].items() if n.endswith(_OTHER_WEIGHTS)}
    digested = [told["config"], told.get("quant"), told.get("index"), rows, others]
    return hashlib.sha256(json.dumps(digested, sort_keys=True).encode()).hexdigest()


def _held(told: Mapping[str, Any]) -> config.Held | None:
    """What the headers say; None unless every file was read and is sound."""
    rows = _loaded(told)
    if not rows or told.get("cut") or any(row["problem"] for row in rows.values()):
        return None
    size = sum(row["bytes"] for row in rows.values())
    return config.Held(size, told.get("deepest"), bool(told.get("own_draft")))


def _draft(
    files: Files, model: Model | None, document: Mapping[str, Any], told: Mapping[str, Any]
) -> Draft:
    shapes = {name: tuple(shape) for name, shape in told["tensors"].items()}
    all_told = not told.get("cut") and told.get("named") == len(shapes)
    tied = document.get("tie_word_embeddings") is True
    null_head = document.get("draft_vocab_size", 0) is None
    return Draft(
        files=files,
        model=model,
        keys=tuple(sorted(shapes)) if all_told else (),
        shapes=tuple(sorted(shapes.items())),
        target_hidden=config.whole(document, "target_hidden_size"),
        aux_layers=_aux_layers(document),
        vocabulary=config.whole(document, "draft_vocab_size"),
        shares_head=tied or null_head,
    )


def _aux_layers(document: Mapping[str, Any]) -> int | None:
    if (given := config.whole(document, "num_aux_hidden_states")) is not None:
        return given
    nested = document.get("eagle_config")
    of = nested if isinstance(nested, dict) else document
    layers = of.get("eagle_aux_hidden_state_layer_ids")
    return len(layers) if isinstance(layers, list) and layers else None
