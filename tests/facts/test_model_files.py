"""Model directories, looked at by the script that runs in the container."""

import subprocess
import sys
from pathlib import Path

from stoker.facts.model_files import ModelDirectories
from stoker.facts.renamed_drafts import Renamed, RenamedDraft, script
from tests.facts.asked import asked
from tests.serving.weights import given

PYTHON = sys.executable


def test_each_directory_is_told_by_its_path(tmp_path: Path) -> None:
    whole, half = given.model(tmp_path / "it's a model"), given.model(tmp_path / "half")
    half.joinpath("model-00001-of-00002.safetensors").unlink()
    paths = (str(whole), str(half), str(tmp_path / "none"))
    found = asked(ModelDirectories(), paths=paths, python=PYTHON)
    assert [found[path].files.exists for path in paths] == [True, True, False]
    assert found[str(half)].files.present == ("model-00002-of-00002.safetensors",)
    assert found[str(whole)].model.layers == 1


def test_a_user_that_is_not_there_yet_bars_nothing(tmp_path: Path) -> None:
    path = str(given.model(tmp_path))
    words = {"paths": (path,), "python": PYTHON, "user": "nobody-of-that-name"}
    assert asked(ModelDirectories(), **words)[path].files.broken == ()


def test_no_answer_is_no_directory() -> None:
    assert ModelDirectories().process(["timeout: killed", ""]) == {}


def test_a_drafts_copy_is_told_by_its_state_and_made_by_the_same_script(tmp_path: Path) -> None:
    source = given.draft(tmp_path / "trained", given.draft_shapes("layers.0."))
    pair = (str(source), str(tmp_path / "it's renamed"), PYTHON)
    words, fact = dict(zip(("source", "destination", "python"), pair, strict=True)), RenamedDraft()
    assert asked(fact, **words) == Renamed("absent")
    subprocess.run(["sh", "-c", script(*pair, act=True).get_raw_value()], check=True)
    assert asked(fact, **words) == Renamed("right")


def test_a_copy_that_cannot_be_made_fails_with_its_sentence(tmp_path: Path) -> None:
    words = script(str(tmp_path / "none"), str(tmp_path / "copy"), PYTHON, act=True).get_raw_value()
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"cannot rename {tmp_path}/none: there is no such directory")
