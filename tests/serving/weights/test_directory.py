"""What is told of a model's directory, from whole ones and from every kind of ruin."""

import ast
import json
import math
import os
import random
import struct
import time
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stoker.sandbox import tiny_model
from stoker.serving.inside import model_files, rename_draft
from tests.serving.weights import given as make
from tests.serving.weights.given import looked

ONE, TWO = (f"model-0000{n}-of-00002.safetensors" for n in (1, 2))


def test_a_whole_model_has_every_shard_and_nothing_broken(tmp_path: Path) -> None:
    found = looked(make.model(tmp_path))
    files = found.files
    assert (files.exists, files.config, files.tokenizer) == (True, True, True)
    assert files.index_shards == files.present == (ONE, TWO)
    assert files.broken == ()
    assert found.model is not None
    # 4 of 4 x 8 and one of 16 x 8, 16 bits each.
    assert found.model.weights_gib == (4 * 4 * 8 + 16 * 8) * 2 / 2**30


def test_the_size_is_what_a_copy_of_it_would_need(tmp_path: Path) -> None:
    make.model(tmp_path).joinpath("consolidated.bin").write_bytes(bytes(1000))
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert looked(tmp_path).files.size_bytes == size > 1000


def test_a_directory_that_is_not_there_is_told_from_one_nobody_saw(tmp_path: Path) -> None:
    assert looked(tmp_path / "none").files.exists is False
    single = tmp_path / "model.gguf"
    single.write_bytes(b"GGUF")
    assert looked(single).files.exists is None


def test_a_shard_that_is_not_there_is_not_present(tmp_path: Path) -> None:
    make.model(tmp_path).joinpath(TWO).unlink()
    files = looked(tmp_path).files
    assert (files.index_shards, files.present) == ((ONE, TWO), (ONE,))


def test_without_an_index_the_shards_own_numbers_say_which_is_missing(tmp_path: Path) -> None:
    make.model(tmp_path).joinpath("model.safetensors.index.json").unlink()
    tmp_path.joinpath(ONE).unlink()
    files = looked(tmp_path).files
    assert (files.index_shards, files.present) == ((ONE, TWO), (TWO,))


@pytest.mark.parametrize("name", ["model.gguf", "pytorch_model.bin", "consolidated.00.pt"])
def test_weights_of_another_format_are_not_judged(tmp_path: Path, name: str) -> None:
    tmp_path.joinpath("config.json").write_text(json.dumps(make.LLAMA))
    tmp_path.joinpath(name).write_bytes(b"weights")
    files = looked(tmp_path).files
    assert (files.index_shards, files.broken) == (None, ())


def test_a_directory_without_weights_says_so(tmp_path: Path) -> None:
    tmp_path.joinpath("config.json").write_text(json.dumps(make.LLAMA))
    assert looked(tmp_path).files.broken == ("there are no weights in it",)


def test_a_git_lfs_pointer_is_told_with_the_size_it_stands_for(tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 4999802720\n"
    make.model(tmp_path).joinpath(ONE).write_text(pointer)
    (sentence,) = looked(tmp_path).files.broken
    assert sentence == (f"{ONE} is a Git LFS pointer, not the file of 5.00 GB that it stands for")


def test_a_file_cut_short_is_told_with_both_sizes(tmp_path: Path) -> None:
    path = make.model(tmp_path).joinpath(ONE)
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    (sentence,) = looked(tmp_path).files.broken
    assert sentence == f"{ONE} is cut short: {len(whole) - 10:,} of {len(whole):,} bytes"


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
@given(where=st.floats(0, 1, exclude_max=True))
def test_cut_anywhere_a_file_is_broken_and_a_whole_one_is_not(tmp_path: Path, where: float) -> None:
    whole = make.tensors({"a": (3, 5), "b": (7,), "c": (2, 2, 2)})
    path = tmp_path / "model.safetensors"
    path.write_bytes(whole)
    assert looked(tmp_path).files.broken == ()
    path.write_bytes(whole[: int(len(whole) * where)])
    (sentence,) = looked(tmp_path).files.broken
    assert sentence.startswith("model.safetensors is ")


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
@given(data=st.binary(max_size=200))
def test_no_bytes_at_all_bring_the_look_down(tmp_path: Path, data: bytes) -> None:
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        tmp_path.joinpath(name).write_bytes(data)
    tmp_path.joinpath("model.safetensors.index.json").write_bytes(data)
    assert looked(tmp_path).files.broken


@pytest.mark.parametrize(
    "header",
    [
        {"a": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 6]}},
        {"a": {"dtype": "BF16", "shape": [4], "data_offsets": [8, 0]}},
        {"a": {"dtype": "BF16", "shape": "no", "data_offsets": [0, 8]}},
        {"a": {"dtype": "BF16", "shape": [4]}},
        {"a": [1]},
        [],
    ],
)
def test_a_header_that_contradicts_itself_is_none(tmp_path: Path, header: object) -> None:
    text = json.dumps(header).encode()
    data = struct.pack("<Q", len(text)) + text + bytes(8)
    tmp_path.joinpath("model.safetensors").write_bytes(data)
    assert looked(tmp_path).files.broken == ("model.safetensors has no safetensors header",)


def test_a_hole_between_tensors_is_told(tmp_path: Path) -> None:
    header = {"a": {"dtype": "U8", "shape": [2], "data_offsets": [4, 6]}}
    text = json.dumps(header).encode()
    data = struct.pack("<Q", len(text)) + text + bytes(6)
    tmp_path.joinpath("model.safetensors").write_bytes(data)
    assert "leaves a hole before a" in looked(tmp_path).files.broken[0]


def test_a_tensor_that_the_index_puts_into_another_file_is_told(tmp_path: Path) -> None:
    path = make.model(tmp_path).joinpath("model.safetensors.index.json")
    index = json.loads(path.read_text())
    index["weight_map"]["model.norm.weight"] = ONE
    path.write_text(json.dumps(index))
    (sentence,) = looked(tmp_path).files.broken
    assert sentence == "1 tensor(s) of the index are in none of its files: model.norm.weight"


def test_a_file_that_no_index_names_is_not_loaded_and_so_not_judged(tmp_path: Path) -> None:
    make.model(tmp_path).joinpath("consolidated.safetensors").write_bytes(b"half")
    found = looked(tmp_path)
    assert found.files.broken == ()
    assert found.files.revision == looked(make.model(tmp_path / "again")).files.revision


def test_two_sets_of_the_same_weights_without_an_index_are_told(tmp_path: Path) -> None:
    make.model(tmp_path).joinpath("model.safetensors.index.json").unlink()
    tmp_path.joinpath("consolidated.safetensors").write_bytes(make.tensors({"a": (1,)}))
    assert "no index says which to load" in looked(tmp_path).files.broken[0]


def test_an_unfinished_download_is_counted(tmp_path: Path) -> None:
    downloads = make.model(tmp_path) / ".cache" / "huggingface" / "download"
    downloads.mkdir(parents=True)
    downloads.joinpath("abc.incomplete").touch()
    assert looked(tmp_path).files.unfinished == 1


def test_the_revision_changes_with_a_header_a_size_or_the_config_and_with_nothing_else(
    tmp_path: Path,
) -> None:
    first = looked(make.model(tmp_path)).files.revision
    tmp_path.joinpath("README.md").write_text("words")
    os.utime(tmp_path / ONE)
    assert looked(tmp_path).files.revision == first
    make.model(tmp_path, {**make.LLAMA, "rope_theta": 1})
    changed = looked(tmp_path).files.revision
    make.model(tmp_path, layers=5)
    assert len({first, changed, looked(tmp_path).files.revision}) == 3


@pytest.mark.parametrize(
    ("tokenizer", "tokens"),
    [
        (make.tokenizer("</think>"), 1),
        (make.tokenizer(words=["</", "think", ">"]), 3),
        (make.tokenizer(words=["a", "b"]), 2),
        (make.tokenizer(words=["</think>"]), None),
        ({"model": {"type": "Unigram", "vocab": [["a", 0.1]]}}, None),
        ({}, None),
    ],
)
def test_into_how_many_tokens_the_end_of_thinking_is_cut(
    tmp_path: Path, tokenizer: dict[str, object], tokens: int | None
) -> None:
    make.model(tmp_path).joinpath("tokenizer.json").write_text(json.dumps(tokenizer))
    assert looked(tmp_path).files.think_end_tokens == tokens


def test_a_tiktoken_model_says_its_added_tokens_beside_it(tmp_path: Path) -> None:
    make.model(tmp_path).joinpath("tokenizer.json").unlink()
    assert looked(tmp_path).files.tokenizer is False
    tmp_path.joinpath("tiktoken.model").touch()
    added = {"163607": {"content": "</think>"}}
    config = {"added_tokens_decoder": added, "auto_map": {"AutoTokenizer": ["x.Y", None]}}
    tmp_path.joinpath("tokenizer_config.json").write_text(json.dumps(config))
    files = looked(tmp_path).files
    assert (files.tokenizer, files.think_end_tokens, files.remote_tokenizer) == (True, 1, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can look as another user")
def test_a_shard_that_the_servers_user_cannot_read_is_told(tmp_path: Path) -> None:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    make.model(tmp_path)
    assert looked(tmp_path, "nobody").files.broken == ()
    tmp_path.joinpath(ONE).chmod(0o600)
    assert looked(tmp_path, "nobody").files.broken == (f"the servers' user cannot read {ONE}",)


def test_sixty_four_shards_are_read_in_a_moment(tmp_path: Path) -> None:
    make.model(tmp_path, shards=64, layers=64 * 200)
    begun = time.process_time()
    found = model_files.look(tmp_path, "")
    assert time.process_time() - begun < 0.7
    assert len(found["shards"]) == 64


def test_what_is_told_of_a_large_model_stays_small(tmp_path: Path) -> None:
    make.model(tmp_path, shards=4, layers=4000)
    told = model_files.look(tmp_path, "")
    assert len(told["tensors"]) <= 520
    assert "lm_head.weight" in told["tensors"]
    assert looked(tmp_path).draft.keys == ()


def test_any_single_changed_byte_of_a_header_is_seen_in_the_revision(tmp_path: Path) -> None:
    path = make.model(tmp_path, shards=1) / "model-00001-of-00001.safetensors"
    whole = path.read_bytes()
    first = looked(tmp_path).files.revision
    spot = random.Random(5).randrange(8, 100)
    path.write_bytes(whole[:spot] + bytes([whole[spot] ^ 1]) + whole[spot + 1 :])
    assert looked(tmp_path).files.revision != first


@pytest.mark.parametrize("script", [model_files, rename_draft])
def test_the_scripts_are_python_3_9(script: ModuleType) -> None:
    path = Path(str(script.__file__))
    ast.parse(path.read_text(), str(path), feature_version=(3, 9))


def test_a_model_of_links_into_a_cache_is_read_through_them(tmp_path: Path) -> None:
    real = make.model(tmp_path / "blobs")
    linked = tmp_path / "snapshot"
    linked.mkdir()
    for path in real.iterdir():
        linked.joinpath(path.name).symlink_to(path)
    assert looked(linked).files.broken == ()
    assert looked(linked).files.revision == looked(real).files.revision
    real.joinpath(ONE).unlink()
    assert looked(linked).files.present == (TWO,)


def test_the_sandboxs_own_model_is_whole_and_described(tmp_path: Path) -> None:
    for name, data in tiny_model.files().items():
        tmp_path.joinpath(name).write_bytes(data)
    found = looked(tmp_path)
    assert found.files.broken == () and found.files.think_end_tokens == 1
    assert found.model is not None and found.model.weights_gib is not None
    assert (found.model.heads, found.model.head_dim, found.model.layers) == (4, 16, 2)
    shapes = tiny_model.tensors().values()
    assert found.model.weights_gib * 2**30 == 4 * sum(math.prod(shape) for shape in shapes)
