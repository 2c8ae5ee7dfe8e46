"""The order of SGLang's versions, and which is in a range."""

import pytest

from stoker.serving.versions import feature_key, is_release, key, within

BUILDS = ["main", "0.0.0.dev11582", "", "latest"]


def test_versions_are_in_their_order_and_what_is_no_release_is_last() -> None:
    mixed = ["main", "0.5.12", "0.5.9", "0.5.12.post1", "0.5.12rc1", "0.6.0"]
    ordered = ["0.5.9", "0.5.12rc1", "0.5.12", "0.5.12.post1", "0.6.0", "main"]
    assert sorted(mixed, key=key) == ordered


def test_a_candidate_does_what_its_release_does() -> None:
    assert feature_key("0.5.12rc1") == feature_key("v0.5.12") < feature_key("0.5.12.post1")


@pytest.mark.parametrize("version", BUILDS)
@pytest.mark.parametrize("range_", ["<0.5.21", ">=0.5.12", "!=0.5.12"])
def test_what_is_no_release_is_in_no_range(version: str, range_: str) -> None:
    assert not is_release(version)
    assert not within(version, range_)
    assert within(version, "")


@pytest.mark.parametrize(
    ("version", "inside"),
    [("0.5.11", False), ("0.5.12", True), ("0.5.12.post1", True), ("0.5.17rc1", False)],
)
def test_a_range_ends_before_the_candidates_of_its_end(version: str, inside: bool) -> None:
    assert within(version, ">=0.5.12,<0.5.17") == inside
