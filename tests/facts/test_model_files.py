"""Model directories, looked at by the script that runs in the container."""

from pathlib import Path

from stoker.facts.model_files import ModelDirectories
from tests.facts.asked import asked
from tests.serving.weights import given


def test_each_directory_is_told_by_its_path(tmp_path: Path) -> None:
    whole, half = given.model(tmp_path / "it's a model"), given.model(tmp_path / "half")
    half.joinpath("model-00001-of-00002.safetensors").unlink()
    paths = (str(whole), str(half), str(tmp_path / "none"))
    found = asked(ModelDirectories(), paths=paths)
    assert [found[path].files.exists for path in paths] == [True, True, False]
    assert found[str(half)].files.present == ("model-00002-of-00002.safetensors",)
    assert found[str(whole)].model.layers == 1


def test_a_user_that_is_not_there_yet_bars_nothing(tmp_path: Path) -> None:
    path = str(given.model(tmp_path))
    assert (
        asked(ModelDirectories(), paths=(path,), user="nobody-of-that-name")[path].files.broken
        == ()
    )


def test_no_answer_is_no_directory() -> None:
    assert ModelDirectories().process(["timeout: killed", ""]) == {}
