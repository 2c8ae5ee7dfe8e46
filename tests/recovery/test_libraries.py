from pathlib import Path

import pytest

from stoker.health.libraries import problems
from stoker.recovery.libraries import inside, versions

LIB = "usr/lib/x86_64-linux-gnu"
FITTING = {"libcuda": ["580.126.09"], "libnvidia-ml": ["580.126.09"]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A container's root, with the driver's libraries as its installer leaves them."""
    made = tmp_path / "root"
    placed(made, LIB, "libcuda", "580.126.09")
    placed(made, LIB, "libnvidia-ml", "580.126.09")
    (made / LIB / "libc.so.6").write_text("")
    return made


def placed(root: Path, folder: str, library: str, version: str) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / f"{library}.so.{version}").write_text("")
    link = root / folder / f"{library}.so.1"
    if not link.is_symlink():
        link.symlink_to(f"{library}.so.{version}")


def test_versions_are_those_of_the_files(root: Path) -> None:
    assert versions(str(root)) == FITTING
    assert problems(FITTING, "580.126.09") == ()


@pytest.mark.scenario("T8")
def test_two_versions_are_half_an_upgrade(root: Path) -> None:
    placed(root, "usr/lib64", "libcuda", "580.142")
    assert versions(str(root))["libcuda"] == ["580.126.09", "580.142"]
    assert problems(versions(str(root)), "580.142")[0] == (
        "libcuda is there in versions 580.126.09, 580.142, half an upgrade; keep 580.142 alone"
    )


@pytest.mark.scenario("T8")
def test_another_version_than_the_module_s_is_told_to_the_letter() -> None:
    assert problems({"libcuda": ["580.126.9"]}, "580.126.09") == (
        "libcuda is of version 580.126.9 and the node's module of 580.126.09; install 580.126.09 "
        "in the container",
    )
    assert problems({"libcuda": ["580.126.09"]}, "") == problems({}, "580.126.09") == ()


def test_a_container_without_the_driver_has_none(tmp_path: Path) -> None:
    assert versions(str(tmp_path)) == versions(str(tmp_path / "gone")) == {}


@pytest.mark.scenario("T8")
def test_a_link_of_the_container_never_leads_out_of_it(tmp_path: Path) -> None:
    placed(tmp_path, "host", "libcuda", "999.99")
    root = tmp_path / "root"
    (root / "usr").mkdir(parents=True)
    for link in (str(tmp_path / "host"), "../../../../../host", "../../host"):
        (root / "usr" / "lib64").symlink_to(link)
        assert versions(str(root)) == {}, link
        (root / "usr" / "lib64").unlink()


@pytest.mark.scenario("T8")
def test_an_absolute_link_is_followed_as_the_container_sees_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    placed(root, "opt/driver", "libcuda", "580.142")
    (root / "usr").mkdir()
    (root / "usr" / "lib64").symlink_to("/opt/driver")
    assert versions(str(root)) == {"libcuda": ["580.142"]}
    (root / "lib").symlink_to("usr/lib64")
    assert inside(str(root), "lib") == f"{root}/opt/driver"


@pytest.mark.scenario("T8")
def test_links_in_circles_end(tmp_path: Path) -> None:
    (tmp_path / "usr").mkdir()
    (tmp_path / "usr" / "lib64").symlink_to("lib")
    (tmp_path / "usr" / "lib").symlink_to("/usr/lib64/x")
    assert versions(str(tmp_path)) == {}


def test_a_link_or_a_folder_of_a_library_s_name_is_no_library(root: Path) -> None:
    (root / LIB / "libcuda.so.999.99").symlink_to("libcuda.so.580.126.09")
    (root / LIB / "libcuda.so.998.99").mkdir()
    (root / LIB / "libcuda.so.580.126.09.old").write_text("")
    assert versions(str(root)) == FITTING


def test_of_our_trees_only_the_one_in_use_counts(tmp_path: Path) -> None:
    home = "opt/stoker/driver"
    placed(tmp_path, f"{home}/580.95.05/lib", "libcuda", "580.95.05")
    placed(tmp_path, f"{home}/580.142/lib", "libcuda", "580.142")
    assert versions(str(tmp_path)) == {}
    (tmp_path / home / "current").symlink_to("580.142")
    assert versions(str(tmp_path)) == {"libcuda": ["580.142"]}
