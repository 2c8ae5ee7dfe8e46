"""A tiny random Llama that a real SGLang serves on a CPU: `sandbox-tiny`.

It says nothing sensible. Its weights follow from a seed, so every copy is the same, and every
byte of its files is written here: no download, no library.
"""

import functools
import json
import random
import struct
from array import array
from pathlib import Path
from typing import Any

from stoker.sandbox.files import write_atomically

_HIDDEN, _LAYERS, _HEADS, _INNER = 64, 2, 4, 128
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
THINKING = ("<think>", "</think>")
_VOCABULARY = 256 + len(SPECIAL) + len(THINKING)
_SEED = 12

# ChatML, as Qwen's models have it. With thinking switched off the thought is given as empty.
_CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n"
    "{% endif %}{% endif %}"
)


def tensors() -> dict[str, tuple[int, ...]]:
    """Names and shapes of a Llama's weights, in the order they are stored."""
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (_VOCABULARY, _HIDDEN)}
    for number in range(_LAYERS):
        layer = f"model.layers.{number}"
        shapes[f"{layer}.input_layernorm.weight"] = (_HIDDEN,)
        for part in ("q", "k", "v", "o"):
            shapes[f"{layer}.self_attn.{part}_proj.weight"] = (_HIDDEN, _HIDDEN)
        shapes[f"{layer}.post_attention_layernorm.weight"] = (_HIDDEN,)
        shapes[f"{layer}.mlp.gate_proj.weight"] = (_INNER, _HIDDEN)
        shapes[f"{layer}.mlp.up_proj.weight"] = (_INNER, _HIDDEN)
        shapes[f"{layer}.mlp.down_proj.weight"] = (_HIDDEN, _INNER)
    return shapes | {"model.norm.weight": (_HIDDEN,), "lm_head.weight": (_VOCABULARY, _HIDDEN)}


def _values(name: str, count: int, chance: random.Random) -> bytes:
    if name.endswith("norm.weight"):
        return array("f", [1.0] * count).tobytes()
    return array("f", [chance.gauss(0.0, 0.05) for _ in range(count)]).tobytes()


def safetensors() -> bytes:
    """The weights as float32 in the safetensors format: length, JSON header, data."""
    chance = random.Random(_SEED)
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = bytearray()
    for name, shape in tensors().items():
        begin = len(data)
        data += _values(name, shape[0] * (shape[1] if len(shape) > 1 else 1), chance)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(data)


def byte_letters() -> list[str]:
    """The printable letter that stands for each byte in a byte-level vocabulary (GPT-2's table)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (code for code in range(256) if code not in printable)
    table = {code: chr(code) for code in printable}
    table |= {code: chr(256 + number) for number, code in enumerate(others)}
    return [table[code] for code in range(256)]


def added_tokens() -> list[dict[str, Any]]:
    """Tokens that are more than a byte; those of thinking are text, not control."""
    return [
        {
            "id": 256 + number,
            "content": text,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": text in SPECIAL,
        }
        for number, text in enumerate((*SPECIAL, *THINKING))
    ]


def tokenizer() -> dict[str, Any]:
    """tokenizer.json: byte-level BPE without a single merge, so a token is a byte."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    level["use_regex"] = True
    vocabulary = {letter: code for code, letter in enumerate(byte_letters())}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens(),
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": None,
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": vocabulary,
            "merges": [],
        },
    }


def _config() -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": _HIDDEN,
        "intermediate_size": _INNER,
        "num_hidden_layers": _LAYERS,
        "num_attention_heads": _HEADS,
        "num_key_value_heads": _HEADS,
        "head_dim": _HIDDEN // _HEADS,
        "vocab_size": _VOCABULARY,
        "max_position_embeddings": 4096,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": False,
        "bos_token_id": 256,
        "eos_token_id": 258,
        "pad_token_id": 256,
        # Stored in float32; served in bfloat16, which every CPU's torch computes.
        "torch_dtype": "bfloat16",
    }


def _tokenizer_config() -> dict[str, Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "added_tokens_decoder": {
            str(token["id"]): {key: value for key, value in token.items() if key != "id"}
            for token in added_tokens()
        },
        "bos_token": "<|endoftext|>",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": 4096,
        "chat_template": _CHAT_TEMPLATE,
    }


@functools.cache
def files() -> dict[str, bytes]:
    """Every file of the model's directory by name."""
    generation = {"bos_token_id": 256, "eos_token_id": [258, 256], "pad_token_id": 256}
    documents = {
        "config.json": _config(),
        "generation_config.json": generation | {"do_sample": True, "temperature": 0.8},
        "tokenizer.json": tokenizer(),
        "tokenizer_config.json": _tokenizer_config(),
    }
    written = {name: json.dumps(text, indent=1).encode() for name, text in documents.items()}
    return written | {"model.safetensors": safetensors()}


def write(directory: Path) -> None:
    """Put the model there, each file whole or not at all."""
    for name, content in files().items():
        write_atomically(directory / name, content)
