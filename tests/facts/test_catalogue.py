"""The catalogue of a venv, read by the program that runs in the container."""

import sys
from pathlib import Path

import pytest

from stoker.facts.catalogue import InstalledCatalogue
from stoker.serving.catalogue import recorded, shipping
from stoker.serving.catalogue.agreement import differences
from stoker.serving.catalogue.catalogue import Catalogue
from stoker.serving.catalogue.extracting.installed import KEPT
from tests.facts.asked import asked
from tests.serving.catalogue.test_extracting import CALLS, CHOICES, tree


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """One with a small SGLang in it, and this Python."""
    made = tmp_path / "a venv"
    tree(made / "lib/python3.11/site-packages", server_args=CALLS, choices=CHOICES)
    (made / "bin").mkdir()
    (made / "bin/python").symlink_to(sys.executable)
    return made


def read(venv: Path) -> Catalogue | None:
    found = asked(InstalledCatalogue(), venv=str(venv))
    assert found is None or isinstance(found, Catalogue)
    return found


def test_the_options_of_a_venv_are_read(venv: Path) -> None:
    found = read(venv)
    assert found and found.sglang == "0.5.99"
    assert ("--model-path", "--model") in [option.names for option in found.options]


def test_the_venv_keeps_the_answer_until_its_sglang_is_another(venv: Path) -> None:
    first = read(venv)
    kept = venv / "lib" / KEPT
    made = kept.stat().st_mtime_ns
    assert read(venv) == first and kept.stat().st_mtime_ns == made
    source = venv / "lib/python3.11/site-packages/sglang/srt/server_args.py"
    source.write_text(source.read_text().replace("--quiet", "--silent"))
    second = read(venv)
    assert first and second
    assert differences(first, second) == ("--quiet is not installed", "--silent was never recorded")


def test_a_kept_answer_that_is_damaged_is_made_again(venv: Path) -> None:
    first = read(venv)
    (venv / "lib" / KEPT).write_text("{")
    assert read(venv) == first


def test_no_venv_and_no_sglang_are_no_catalogue(tmp_path: Path, venv: Path) -> None:
    assert read(tmp_path / "none") is None
    (venv / "lib/python3.11").rename(venv / "lib/elsewhere")
    assert read(venv) is None


def test_a_recorded_catalogue_does_not_come_over_the_wire() -> None:
    known = recorded.load("0.5.12")
    assert known
    line = f'{{"sglang":"0.5.12","digest":"{known.digest}"}}'
    assert InstalledCatalogue().process(["a warning", line]) == known


def test_the_program_fits_into_one_word_of_a_command_line() -> None:
    assert len(shipping.program()) < 32_000


def test_what_is_recorded_agrees_with_itself_and_not_with_another_version() -> None:
    one, other = recorded.load("0.5.12"), recorded.load("0.5.13")
    assert one and other
    assert differences(one, one) == ()
    told = differences(one, other)
    assert "--enable-nan-detection is not installed" in told
    assert any(line.endswith("was never recorded") for line in told)
