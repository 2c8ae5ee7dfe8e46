"""The tiny model's files, read as the programs that load them do."""

import json
import struct
from math import prod
from typing import Any

from stoker.sandbox import tiny_model


def _header(data: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def test_the_weights_fill_their_file_without_a_gap() -> None:
    header, data = _header(tiny_model.safetensors())
    assert header.pop("__metadata__") == {"format": "pt"}
    end = 0
    for tensor in header.values():
        begin, after = tensor["data_offsets"]
        assert begin == end and after - begin == 4 * prod(tensor["shape"])
        end = after
    assert end == len(data)


def test_the_weights_are_the_same_each_time() -> None:
    assert tiny_model.safetensors() == tiny_model.safetensors()


def test_every_byte_and_every_special_token_has_its_own_id() -> None:
    tokenizer = tiny_model.tokenizer()
    assert sorted(tokenizer["model"]["vocab"].values()) == list(range(256))
    added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    assert added["<think>"] == 259 and added["</think>"] == 260
    config = json.loads(tiny_model.files()["config.json"])
    assert config["vocab_size"] == 256 + len(added)
    assert config["eos_token_id"] == added["<|im_end|>"]


def test_a_thought_is_text_and_not_control() -> None:
    special = {token["content"]: token["special"] for token in tiny_model.added_tokens()}
    assert special == {
        "<|endoftext|>": True,
        "<|im_start|>": True,
        "<|im_end|>": True,
        "<think>": False,
        "</think>": False,
    }


def test_the_letters_are_gpt_2s() -> None:
    letters = tiny_model.byte_letters()
    assert (letters[ord("a")], letters[ord(" ")], letters[ord("\n")]) == ("a", "Ġ", "Ċ")
    assert len(set(letters)) == 256
