"""Model directories made in a test: tiny, and true in every header."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stoker.serving.inside import model_files
from stoker.serving.weights.directory import Directory, read

Shapes = Mapping[str, Sequence[int]]

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 8,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "num_hidden_layers": 1,
    "max_position_embeddings": 64,
    "vocab_size": 16,
}
EAGLE3 = {
    **LLAMA,
    "architectures": ["LlamaForCausalLMEagle3"],
    "draft_vocab_size": 12,
    "tie_word_embeddings": False,
}


def tensors(shapes: Shapes) -> bytes:
    """A safetensors file of 16-bit tensors, each byte telling its tensor from the others."""
    header: dict[str, Any] = {}
    data = b""
    for number, (name, shape) in enumerate(shapes.items()):
        size = 2
        for extent in shape:
            size *= extent
        offsets = [len(data), len(data) + size]
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": offsets}
        data += bytes([number % 251]) * size
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def model(
    directory: Path, config: Mapping[str, Any] | None = None, shards: int = 2, layers: int = 4
) -> Path:
    """A model of so many shards, with its index and a tokenizer."""
    directory.mkdir(parents=True, exist_ok=True)
    directory.joinpath("config.json").write_text(json.dumps(dict(config or LLAMA)))
    directory.joinpath("tokenizer.json").write_text(json.dumps(tokenizer()))
    held: dict[int, dict[str, tuple[int, ...]]] = {n: {} for n in range(shards)}
    for layer in range(layers):
        held[layer % shards][f"model.layers.{layer}.mlp.up_proj.weight"] = (4, 8)
    held[shards - 1]["lm_head.weight"] = (16, 8)
    weight_map: dict[str, str] = {}
    for number, shapes in held.items():
        name = f"model-{number + 1:05}-of-{shards:05}.safetensors"
        directory.joinpath(name).write_bytes(tensors(shapes))
        weight_map |= dict.fromkeys(shapes, name)
    index = {"metadata": {"total_size": 0}, "weight_map": weight_map}
    directory.joinpath("model.safetensors.index.json").write_text(json.dumps(index))
    return directory


def layer_of(prefix: str) -> dict[str, tuple[int, ...]]:
    """The ten tensors of a draft's layer."""
    parts = {f"self_attn.{one}_proj": (8, 16) for one in "qkv"} | {"self_attn.o_proj": (8, 8)}
    parts |= {f"mlp.{one}_proj": (8, 8) for one in ("gate", "up", "down")}
    norms = ("hidden_norm", "input_layernorm", "post_attention_layernorm")
    parts |= dict.fromkeys(norms, (8,))
    return {f"{prefix}{part}.weight": shape for part, shape in parts.items()}


def draft_shapes(prefix: str = "midlayer.") -> dict[str, tuple[int, ...]]:
    """All sixteen tensors of an EAGLE3 draft as it is trained."""
    rest = {"fc.weight": (8, 24), "norm.weight": (8,), "lm_head.weight": (12, 8)}
    maps = {"d2t": (12,), "t2d": (16,), "embed_tokens.weight": (16, 8)}
    return {**layer_of(prefix), **rest, **maps}


def draft(
    directory: Path, shapes: Shapes | None = None, config: Mapping[str, Any] | None = None
) -> Path:
    """A draft model of one file."""
    directory.mkdir(parents=True, exist_ok=True)
    directory.joinpath("config.json").write_text(json.dumps(dict(config or EAGLE3)))
    directory.joinpath("model.safetensors").write_bytes(tensors(shapes or draft_shapes()))
    return directory


def tokenizer(*added: str, words: Sequence[str] = ()) -> dict[str, Any]:
    """A tokenizer.json with these added tokens and these words in its vocabulary."""
    return {
        "added_tokens": [{"id": n, "content": text} for n, text in enumerate(added)],
        "model": {"type": "BPE", "vocab": {w: n for n, w in enumerate(words)}, "merges": []},
    }


def looked(directory: Path, user: str = "") -> Directory:
    """What the script in the container tells of it, read."""
    return read(json.loads(json.dumps(model_files.look(directory, user))))
