"""What a directory's state makes of a flag set, with the shared cases of files among it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stoker.serving import weights
from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.weights.directory import Directory
from stoker.serving.weights.files import Files
from tests.serving.weights import given as make
from tests.serving.weights.given import looked

CASE_057 = Files(
    index_shards=("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"),
    present=("model-00001-of-00002.safetensors",),
)


def question(sglang: str = "0.5.12", **values: Any) -> Question:
    values.setdefault("model_path", "/m")
    parsed = Parsed(values, frozenset(values))
    return Question("flag set", sglang, (), {}, parsed, catalogue=None)


def reasons(asked: Question, model: Directory | None = None) -> list[Reason]:
    if model is not None:
        asked = replace(asked, files=model.files, model=model.model)
    return list(weights.check(asked))


def test_a_whole_model_gives_no_reason(tmp_path: Path) -> None:
    assert reasons(question(), looked(make.model(tmp_path))) == []


def test_what_nobody_looked_at_gives_no_reason() -> None:
    assert reasons(question()) == []
    assert reasons(replace(question(), files=Files())) == []
    # Case 058: the tokenizer's fault is another check's.
    assert reasons(replace(question(), files=Files(think_end_tokens=3))) == []


def test_a_missing_shard_is_refused_by_its_name() -> None:
    (reason,) = reasons(replace(question(), files=CASE_057))
    assert (reason.name, reason.severity) == ("weights_incomplete", "refuse")
    assert "lacks 1 of its 2 weight files: model-00002-of-00002.safetensors" in reason.message


def test_a_broken_shard_is_refused_with_its_sizes(tmp_path: Path) -> None:
    path = make.model(tmp_path) / "model-00002-of-00002.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    (reason,) = reasons(question(), looked(tmp_path))
    assert reason.name == "weights_incomplete"
    assert "model-00002-of-00002.safetensors is cut short" in reason.message


def test_every_fault_of_a_directory_is_in_one_reason(tmp_path: Path) -> None:
    make.model(tmp_path, shards=4, layers=8)
    for number in (1, 2):
        tmp_path.joinpath(f"model-0000{number}-of-00004.safetensors").unlink()
    tmp_path.joinpath("model-00003-of-00004.safetensors").write_bytes(b"")
    tmp_path.joinpath("part.incomplete").touch()
    (reason,) = reasons(question(), looked(tmp_path))
    assert "lacks 3 of its 4 weight files" in reason.message
    assert "1 file(s) of a download have not ended" in reason.message


def test_a_directory_that_is_not_there_is_a_missing_model(tmp_path: Path) -> None:
    (reason,) = reasons(question(), looked(tmp_path / "none"))
    assert (reason.name, reason.message) == ("model_missing", f"{tmp_path}/none is not there")


def test_a_directory_without_a_config_is_no_model(tmp_path: Path) -> None:
    make.model(tmp_path).joinpath("config.json").write_text("{")
    (reason,) = reasons(question(), looked(tmp_path))
    assert (reason.name, "config.json" in reason.message) == ("model_missing", True)


@pytest.mark.parametrize("load_format", ["dummy", "gguf", "remote", "sharded_state"])
def test_a_load_that_reads_no_shards_needs_none(tmp_path: Path, load_format: str) -> None:
    make.model(tmp_path).joinpath("model-00002-of-00002.safetensors").unlink()
    assert reasons(question(load_format=load_format), looked(tmp_path)) == []


def test_without_a_tokenizer_there_is_none_unless_another_place_is_named(tmp_path: Path) -> None:
    make.model(tmp_path).joinpath("tokenizer.json").unlink()
    found = looked(tmp_path)
    (reason,) = reasons(question(), found)
    assert (reason.name, reason.severity) == ("tokenizer_error", "refuse")
    assert reasons(question(tokenizer_path="/t"), found) == []
    assert reasons(question(skip_tokenizer_init=True), found) == []


def test_a_tokenizer_that_is_code_needs_the_flag_that_lets_it_run(tmp_path: Path) -> None:
    make.model(tmp_path).joinpath("tokenizer.json").unlink()
    tmp_path.joinpath("tiktoken.model").touch()
    config = {"auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]}}
    tmp_path.joinpath("tokenizer_config.json").write_text(json.dumps(config))
    (reason,) = reasons(question(), looked(tmp_path))
    assert (reason.name, reason.severity) == ("tokenizer_error", "warn")
    assert reasons(question(trust_remote_code=True), looked(tmp_path)) == []
