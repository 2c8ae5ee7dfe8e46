"""A container's libraries against the node's module: to the letter, and none removed unasked."""

import pytest

from stoker.container.libraries import Inside, Library, Use
from stoker.container.parity import Plan, fitting, plan, still_used, superseded
from stoker.refused import Refused

LIB = "/usr/lib/x86_64-linux-gnu"
OURS = "/opt/stoker/driver/580.126.09/lib"
LOADED = "580.126.09"


def own(*versions: str, package: str = "") -> tuple[Library, ...]:
    return tuple(
        Library(f"{LIB}/{name}.so.{version}", package)
        for version in versions
        for name in ("libcuda", "libnvidia-ml")
    )


def takes(version: str, folder: str = LIB) -> dict[str, str]:
    return {name: f"{folder}/{name}.so.{version}" for name in ("libcuda", "libnvidia-ml")}


def test_a_container_whose_own_libraries_match_is_left_alone() -> None:
    found = Inside(own=own(LOADED), takes=takes(LOADED))
    assert plan(LOADED, found, replace=False) == Plan()
    assert not plan(LOADED, found, replace=True).changes


def test_ours_match_too() -> None:
    found = Inside(takes=takes(LOADED, OURS), trees=(LOADED,), current=LOADED, conf=True)
    assert plan(LOADED, found, replace=False) == Plan()


def test_versions_are_whole_strings() -> None:
    found = Inside(own=own("580.126.9"), takes=takes("580.126.9"))
    with pytest.raises(Refused, match=r"module is 580\.126\.09, and the container has"):
        plan(LOADED, found, replace=False)


def test_where_there_are_none_a_tree_is_placed() -> None:
    assert plan(LOADED, Inside(), replace=False) == Plan(place=True)


def test_after_a_reload_of_the_node_a_tree_of_the_new_version_is_placed() -> None:
    old = Inside(takes=takes("580.95.05", OURS), trees=("580.95.05",), current="580.95.05")
    assert plan(LOADED, old, replace=False) == Plan(place=True)


def test_a_forward_compatible_libcuda_that_the_loader_takes_does_not_match() -> None:
    compat = {"libcuda": "/usr/local/cuda/compat/libcuda.so.590.44.01"}
    assert plan(LOADED, Inside(takes=compat), replace=False) == Plan(place=True)


def test_others_in_the_way_are_named_with_their_package_and_both_ways_out() -> None:
    found = Inside(own=own("535.183.01", package="libcuda1"), takes=takes("535.183.01"))
    with pytest.raises(Refused) as told:
        plan(LOADED, found, replace=False)
    assert str(told.value) == (
        "cannot match the driver's libraries: the node's module is 580.126.09, and the container "
        "has /usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01 (package libcuda1), "
        "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.183.01 (package libcuda1); install "
        '580.126.09 there by hand, or let these be removed: driver = {"replace": True}'
    )
    assert plan(LOADED, found, replace=True) == Plan(place=True, remove=found.own)


def test_others_that_nobody_gets_are_told_and_stay_unless_asked() -> None:
    found = Inside(own=own("535.183.01"), takes=takes(LOADED, OURS), trees=(LOADED,))
    left = plan(LOADED, found, replace=False)
    assert (left.changes, "are used, the container has" in left.told) == (False, True)
    assert plan(LOADED, found, replace=True) == Plan(remove=found.own)


def test_half_an_upgrade_is_refused_while_the_wrong_half_is_taken() -> None:
    found = Inside(own=own("580.142", LOADED), takes=takes("580.142"))
    with pytest.raises(Refused, match=r"libcuda\.so\.580\.142 \(of no package\)"):
        plan(LOADED, found, replace=False)
    asked = plan(LOADED, found, replace=True)
    assert (asked.place, asked.withdraw, asked.remove) == (False, True, own("580.142"))


def test_ours_give_way_to_the_container_s_own_once_these_match() -> None:
    found = Inside(own=own(LOADED), takes=takes("580.95.05", OURS), trees=("580.95.05",), conf=True)
    assert plan(LOADED, found, replace=False) == Plan(withdraw=True)


def test_a_library_of_no_version_fits_nothing() -> None:
    found = Inside(takes={"libcuda": "/usr/lib/wsl/lib/libcuda.so.1"})
    assert not fitting(LOADED, found)
    assert not fitting(LOADED, Inside(takes={"libnvidia-ml": f"{OURS}/libnvidia-ml.so.{LOADED}"}))


def test_trees_of_before_are_those_that_are_neither_loaded_nor_current() -> None:
    found = Inside(trees=("570.1", "580.95.05", LOADED), current="580.95.05")
    assert superseded(LOADED, found) == ["570.1"]


def test_who_still_runs_with_others_is_named_once_with_what_to_do() -> None:
    uses = [
        Use(11, "sglang.service", "/opt/stoker/driver/580.95.05/lib/libcuda.so.580.95.05"),
        Use(12, "sglang.service", f"{LIB}/libnvidia-ml.so.570.1 (deleted)"),
        Use(13, "", f"{LIB}/libcuda.so.570.1"),
        Use(14, "ok.service", f"{LIB}/libcuda.so.{LOADED}"),
        Use(15, "", "/"),
    ]
    assert still_used(uses, LOADED) == [
        "process 13 still runs with the driver's libraries of 570.1, not of 580.126.09; restart it "
        "in the container",
        "sglang.service still runs with the driver's libraries of 570.1, 580.95.05, not of "
        "580.126.09; systemctl restart sglang.service in the container",
    ]
    assert [use.tree for use in uses] == ["580.95.05", "", "", "", ""]
