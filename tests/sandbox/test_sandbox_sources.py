"""The machine's own archives and authorities, as an image gets them."""

from pathlib import Path

import pytest

from stoker.refused import Refused
from stoker.sandbox import authorities, sources

DEB822 = """\
Types: deb
# a comment
URIs: http://archive.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb deb-src
URIs: http://security.example/debian-security
Suites: bookworm-security
Components: main
"""


def _apt(root: Path, files: dict[str, str]) -> Path:
    (root / "sources.list.d").mkdir()
    for name, text in files.items():
        (root / name).write_text(text)
    return root


def test_both_notations_are_read_and_third_parties_left_out(tmp_path: Path) -> None:
    one_line = "deb [signed-by=/k.gpg] http://old.example/debian bookworm main # ours\n"
    third = "deb http://cloud.example/apt cloud-sdk-bookworm main\n"
    third += "#deb http://off.example bookworm main\n"
    names = {"sources.list.d/debian.sources": DEB822, "sources.list": one_line}
    apt = _apt(tmp_path, names | {"sources.list.d/third.list": third})
    found = sources.archives(apt, "bookworm")
    assert [archive.uri for archive in found] == [
        "http://old.example/debian",
        "http://archive.example/debian",
        "http://security.example/debian-security",
    ]


def test_another_release_is_taken_from_the_same_archives(tmp_path: Path) -> None:
    apt = _apt(tmp_path, {"sources.list.d/debian.sources": DEB822})
    text = sources.rendered(sources.archives(apt, "bookworm"), "bookworm", "trixie")
    assert "Suites: trixie trixie-updates\n" in text
    assert "Suites: trixie-security\n" in text
    assert "bookworm" not in text


def test_a_machine_without_archives_of_its_release_is_refused(tmp_path: Path) -> None:
    apt = _apt(tmp_path, {"sources.list": "deb http://third.example nodistro main\n"})
    with pytest.raises(Refused, match="names no archive of Debian bookworm"):
        sources.archives(apt, "bookworm")


def _certificate(letter: str) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{letter * 20}\n-----END CERTIFICATE-----\n"


def test_only_authorities_debian_does_not_ship_are_placed_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "shipped").mkdir()
    (tmp_path / "shipped/a.crt").write_text(_certificate("A"))
    bundle = tmp_path / "bundle.crt"
    bundle.write_text(_certificate("A") + _certificate("B"))
    placed = authorities.files(bundle, tmp_path / "shipped")
    assert placed["usr/local/share/ca-certificates/machine-0.crt"] == _certificate("B")
    assert "usr/local/share/ca-certificates/machine-1.crt" not in placed
    assert placed["etc/ssl/certs/ca-certificates.crt"] == bundle.read_text()


def test_a_machine_without_a_bundle_places_nothing(tmp_path: Path) -> None:
    assert authorities.files(tmp_path / "none", tmp_path) == {}
