"""The tools that Stoker brings along are pinned by hash."""

from pathlib import Path

import pytest

from stoker.refused import Refused
from stoker.serving import tools

PINS = Path(__file__).parents[2] / "locks" / "tools.yaml"


def test_uv_is_pinned_as_a_wheel_and_as_a_binary() -> None:
    uv = tools.load(PINS)["uv"]
    assert uv.requirement == f"uv=={uv.version} --hash=sha256:{uv.sha256}"
    assert uv.member == f"uv-{uv.version}.data/scripts/uv"
    assert (len(uv.placed_sha256), uv.placed_sha256 != uv.sha256) == (64, True)


def test_pip_is_placed_as_its_wheel() -> None:
    pip = tools.load(PINS)["pip"]
    assert pip.member is None
    assert pip.placed_sha256 == pip.sha256


def test_an_unknown_key_is_refused_by_name(tmp_path: Path) -> None:
    pins = tmp_path / "tools.yaml"
    pins.write_text("uv: {version: '1', file: f, sha256: s, url: u}\n")
    with pytest.raises(Refused, match=r"tools\.yaml: `uv`: .*'url'"):
        tools.load(pins)
