from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.serving.evidence.fingerprint import NONE, Fingerprint, differences, env_of, flags_of
from stoker.serving.evidence.machine import Gpu, Machine
from stoker.serving.evidence.taking import fingerprint as taken
from tests.serving.evidence.records import fingerprint
from tests.serving.flagsets import flagset, units

KIND = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
MACHINE = Machine(
    "0.5.12", "2.11.0+cu130", "13.0", "580.95.05", tuple(Gpu(n, KIND) for n in range(8))
)


def test_the_same_parts_make_the_same_digest_and_no_difference() -> None:
    assert fingerprint().digest == fingerprint().digest
    assert differences(fingerprint(), fingerprint()) == ()


@pytest.mark.parametrize(
    ("part", "value", "phrase"),
    [
        ("driver", "580.126.09", "driver 580.95.05 -> 580.126.09"),
        ("torch", "2.12.0+cu130", "torch 2.11.0+cu130 -> 2.12.0+cu130"),
        ("gpus", 8, "gpus 1 -> 8"),
        ("model", "cd" * 32, "model abababababab -> cdcdcdcdcdcd"),
        ("draft", "cd" * 32, "draft none -> cdcdcdcdcdcd"),
        ("driver", None, "driver 580.95.05 -> unknown"),
        ("env", (), "env NCCL_P2P_LEVEL gone (was PHB)"),
        ("env", ("NCCL_P2P_LEVEL=SYS",), "env NCCL_P2P_LEVEL PHB -> SYS"),
    ],
)
def test_each_part_that_moves_is_named_with_both_values(part: str, value: Any, phrase: str) -> None:
    moved = fingerprint(**{part: value})
    assert differences(fingerprint(), moved) == (phrase,)
    assert moved.digest != fingerprint().digest


def test_flags_that_come_go_and_change_are_named_apart() -> None:
    flags = ("--mem-fraction-static 0.93", "--trust-remote-code")
    assert differences(fingerprint(), fingerprint(flags=flags)) == (
        "flag --attention-backend gone (was flashinfer)",
        "flag --mem-fraction-static 0.88 -> 0.93",
        "flag --trust-remote-code new: on",
    )


@pytest.mark.parametrize("part", [one.name for one in fields(Fingerprint)][:8])
def test_what_nobody_knows_is_never_the_same_as_anything(part: str) -> None:
    unknown = fingerprint(**{part: None})
    assert unknown.unknown == (part,)
    assert differences(unknown, unknown) == (f"{part} unknown, then and now",)
    assert differences(fingerprint(), unknown)
    assert differences(unknown, fingerprint())


def test_none_is_known_and_unknown_is_not() -> None:
    assert differences(fingerprint(driver=NONE), fingerprint(driver=NONE)) == ()
    assert differences(fingerprint(driver=NONE), fingerprint(driver=None)) == (
        "driver none -> unknown",
    )


def test_eight_servers_of_one_flag_set_have_one_fingerprint() -> None:
    eight = units(placement={"layout": "one-per-gpu", "gpus": tuple(range(8))})
    prints = {taken(unit, {}, MACHINE, "m", NONE) for unit in eight}
    assert len(prints) == 1
    (one,) = prints
    assert (one.gpu, one.gpus) == (KIND, 1)


def test_host_and_port_are_no_part_of_it_and_every_other_flag_is() -> None:
    here, there = units(), units(host="0.0.0.0", port=31000)
    assert taken(here[0], {}, MACHINE, "m", NONE) == taken(there[0], {}, MACHINE, "m", NONE)
    other = units(flags={"mem-fraction-static": 0.93})
    assert taken(here[0], {}, MACHINE, "m", NONE) != taken(other[0], {}, MACHINE, "m", NONE)


def test_the_order_of_flags_and_the_way_of_writing_them_make_no_difference() -> None:
    one = flags_of(["--a", "1", "--b", "--c", "x", "y", "--port", "3"])
    assert one == flags_of(["--c", "x", "y", "--b", "--a=1", "--nccl-port=4"])
    assert one == ("--a 1", "--b", "--c x y")


def test_the_environment_is_the_flag_sets_own_without_its_gpus() -> None:
    mine = flagset(env={"NCCL_ALGO": "Ring"})
    assert env_of({**mine.env, "CUDA_VISIBLE_DEVICES": "0"}) == ("NCCL_ALGO=Ring",)


def test_a_machine_that_nobody_could_look_at_leaves_its_parts_unknown() -> None:
    (unit,) = units()
    nothing = taken(unit, {}, None, "m", NONE)
    assert nothing.unknown == ("sglang", "torch", "cuda", "driver", "gpu")


def test_a_machine_without_a_driver_is_known_to_have_none() -> None:
    (unit,) = units(placement={"layout": "one-per-gpu", "gpus": (0,)})
    bare = taken(unit, {}, Machine("0.5.12", "2.13.0+cpu"), "m", NONE)
    assert (bare.driver, bare.gpu, bare.cuda, bare.unknown) == (NONE, NONE, NONE, ())
    assert bare.on_cpu


def test_a_gpu_that_is_not_listed_is_unknown_and_several_kinds_are_named() -> None:
    one = replace(MACHINE, gpus=(Gpu(0, "A"), Gpu(1, "B")))
    assert one.kind_of((0, 1)) == "A + B"
    assert one.kind_of((0, 2)) is None


WORD = st.text(alphabet="abc =-0", max_size=6)


@given(st.lists(WORD, max_size=5), st.lists(WORD, max_size=5))
def test_any_two_sets_of_flags_that_differ_are_told_apart(one: list[str], two: list[str]) -> None:
    first = fingerprint(flags=tuple(sorted(one)))
    second = fingerprint(flags=tuple(sorted(two)))
    assert (differences(first, second) == ()) == (first == second)
