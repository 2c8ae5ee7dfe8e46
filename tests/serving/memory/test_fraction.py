"""The bands of --mem-fraction-static."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.serving.checking.question import Gpus
from stoker.serving.memory import check
from tests.serving.memory.asked import KIMI, SMALL, asked, reasons


@pytest.mark.parametrize(
    ("fraction", "severity"),
    [(0.85, None), (0.88, None), (0.89, None), (0.90, "warn"), (0.93, "refuse"), (0.95, "refuse")],
)
def test_chunks_of_4096_on_one_gpu(fraction: float, severity: str | None) -> None:
    flags = f"--chunked-prefill-size 4096 --mem-fraction-static {fraction}"
    assert reasons(asked(flags)).get("mem_fraction_high") == severity


def test_chunks_of_8192_on_eight_gpus_are_a_warning_at_0_88() -> None:
    flags = "--tp-size 8 --chunked-prefill-size 8192 --mem-fraction-static 0.88"
    assert reasons(asked(flags))["mem_fraction_high"] == "warn"


def test_the_default_is_never_complained_of() -> None:
    assert reasons(asked("--tp-size 8 --chunked-prefill-size 16384")) == {}


def test_what_a_capped_pool_leaves_counts() -> None:
    flags = "--chunked-prefill-size 4096 --mem-fraction-static 0.95 --max-total-tokens 200000"
    assert reasons(asked(flags)) == {}


def test_a_capped_pool_of_an_unknown_model_is_not_judged() -> None:
    question = asked("--mem-fraction-static 0.95 --max-total-tokens 200000", model=None)
    found, notes = check(question)
    assert found == ()
    assert any("--mem-fraction-static" in note for note in notes)


def test_a_cap_above_the_pool_changes_nothing() -> None:
    flags = "--chunked-prefill-size 4096 --mem-fraction-static 0.95 --max-total-tokens 90000000"
    assert reasons(asked(flags))["mem_fraction_high"] == "refuse"


def test_a_server_on_the_cpu_is_not_judged() -> None:
    assert reasons(asked("--device cpu --mem-fraction-static 0.99")) == {}
    on_cpu = asked("--mem-fraction-static 0.99", env={"SGLANG_USE_CPU_ENGINE": "1"})
    assert reasons(on_cpu) == {}


def test_unknown_gpus_give_no_reason_but_a_note() -> None:
    found, notes = check(asked("--mem-fraction-static 0.99", gpus=Gpus()))
    assert found == ()
    assert any("cannot be told" in note for note in notes)


def test_speculation_alone_refuses_nothing() -> None:
    flags = (
        "--tp-size 8 --mem-fraction-static 0.88 --speculative-algorithm EAGLE3 "
        "--enable-hierarchical-cache --hicache-size 48"
    )
    assert reasons(asked(flags, model=KIMI))["mem_fraction_high"] == "warn"


@given(st.floats(0.3, 0.99), st.sampled_from([2048, 4096, 8192, 16384]))
def test_a_lower_fraction_is_never_judged_worse(fraction: float, chunk: int) -> None:
    rank = {None: 0, "warn": 1, "refuse": 2}
    flags = f"--chunked-prefill-size {chunk} --mem-fraction-static"
    higher = reasons(asked(f"{flags} {fraction}", model=SMALL)).get("mem_fraction_high")
    lower = reasons(asked(f"{flags} {fraction - 0.05}", model=SMALL)).get("mem_fraction_high")
    assert rank[lower] <= rank[higher]


@pytest.mark.parametrize(("weights", "severity"), [(86.0, "refuse"), (92.0, "warn")])
def test_a_fraction_that_the_weights_ask_for_is_a_warning(weights: float, severity: str) -> None:
    heavy = replace(SMALL, weights_gib=weights)
    flags = "--chunked-prefill-size 4096 --mem-fraction-static 0.99"
    assert reasons(asked(flags, model=heavy))["mem_fraction_high"] == severity
