"""The catalogues that ship."""

import json

import pytest

from stoker.serving.catalogue import recorded
from stoker.serving.catalogue.extracting.extract import digest
from stoker.serving.catalogue.spelling import spelled


def test_every_promised_version_is_recorded() -> None:
    promised = {"0.5.6", "0.5.9", *(f"0.5.{n}" for n in range(12, 24))}
    assert promised <= set(recorded.versions())


@pytest.mark.parametrize("version", recorded.versions())
def test_a_file_is_what_the_extractor_wrote(version: str) -> None:
    document = json.loads((recorded.DATA / f"{version}.json").read_text())
    found = recorded.load(version)
    assert document["sglang"] == version
    assert document["digest"] == digest(document)
    assert found and len(found.options) == len(document["options"]) > 250
    assert {"--model-path", "--tp-size", "--port"} <= recorded.names(version)


@pytest.mark.parametrize(("version", "options"), [("0.5.12", 387), ("0.5.23", 531)])
def test_as_many_options_as_the_real_parser_has(version: str, options: int) -> None:
    found = recorded.load(version)
    assert found and len(found.options) == options


@pytest.mark.parametrize(
    ("asked", "found"), [("0.5.12", "0.5.12"), ("0.5.12.post7", "0.5.12.post1"), ("0.4", "0.5.6")]
)
def test_the_nearest_is_the_newest_that_is_not_newer(asked: str, found: str) -> None:
    assert recorded.nearest(asked).sglang == found


def test_a_version_that_nobody_recorded_has_no_catalogue() -> None:
    assert recorded.load("0.5.99") is None
    for newer in ("9.9", "main", "0.0.0.dev11582"):
        assert recorded.nearest(newer).sglang == recorded.versions()[-1]


@pytest.mark.parametrize("version", ["0.5.6", "0.5.12", "0.5.23"])
def test_one_line_of_a_file_tells_the_same_as_the_whole(version: str) -> None:
    found = recorded.load(version)
    assert found
    for option in found.options:
        assert all(recorded.option(version, name) == option for name in spelled(option))
    assert recorded.option(version, "--model-path-") is None
    assert all(recorded.reads(version, name) for name in found.env)
    assert recorded.ended(version) == found.env_ended
    assert not any(recorded.reads(version, name) for name in found.env_ended.keys() - found.env)


def test_the_versions_that_know_an_option_are_told() -> None:
    known = recorded.knowing("--mamba-scheduler-strategy")
    assert "0.5.12" in known
    assert not {"0.5.6", "0.5.23"} & set(known)
