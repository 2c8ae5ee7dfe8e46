"""Directories that nobody made in good faith: the look ends, and says what it can."""

import os
from pathlib import Path

import pytest

from stoker.serving.inside import model_files


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "hf_quant_config.json"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert model_files.read_json(tmp_path / name) == "is no file"
    assert model_files.look(tmp_path, "")["kind"] == "directory"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("model.safetensors.index.json", '{"weight_map": {"a": ["x"]}}'),
        ("tokenizer.json", '{"model": [1]}'),
        ("tokenizer.json", '{"added_tokens": 5}'),
    ],
)
def test_json_of_another_shape_ends_no_look(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert model_files.look(tmp_path, "")["kind"] == "directory"
