"""Bytes a token, state slots, and what they leave."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.serving.checking.model import Linear, Model
from stoker.serving.checking.question import Gpus, Question
from stoker.serving.memory.cells import Cell, cell
from stoker.serving.memory.logged import Logged
from stoker.serving.memory.prediction import Prediction, worked_out
from stoker.serving.memory.settings import resolve
from stoker.serving.memory.states import slot_bytes, slots_per_request
from stoker.serving.weights.files import Draft, Files
from tests.serving.memory.asked import KIMI, RTX_PRO_6000, SMALL, asked, reasons

SPARSE = replace(KIMI, layers=78, index_head_dim=128, multimodal=False)
HYBRID = Model(
    arch="Qwen3_5ForConditionalGeneration",
    heads=24,
    kv_heads=4,
    layers=64,
    head_dim=256,
    kv_dtype_bytes=2,
    max_position=262144,
    hybrid_mamba=True,
    full_attention_layers=16,
    linear=Linear(layers=48, conv_elements=30720, state_elements=48 * 128 * 128),
    weights_gib=51.0,
)
LOGGED = Logged(before_gib=94.5, after_gib=40.0)


def _cell(question: Question) -> Cell:
    found = cell(question, resolve(question))
    assert isinstance(found, Cell)
    return found


def _predicted(question: Question, logged: Logged | None = None) -> Prediction:
    found = worked_out(question, logged)
    assert isinstance(found, Prediction), found
    return found


@pytest.mark.parametrize(
    ("flags", "bytes_each"),
    [
        ("", 8 * 256 * 36 * 2),
        ("--tp-size 4", 2 * 256 * 36 * 2),
        ("--tp-size 16", 1 * 256 * 36 * 2),
        ("--tp-size 8 --dp-size 8 --enable-dp-attention", 8 * 256 * 36 * 2),
        ("--dp-size 8", 8 * 256 * 36 * 2),
        ("--kv-cache-dtype fp8_e5m2", 8 * 256 * 36),
        ("--kv-cache-dtype fp4_e2m1", 8 * 256 * 36 // 2 + 8 * 256 * 36 // 16),
        ("--pp-size 4", 8 * 256 * 9 * 2),
    ],
)
def test_grouped_heads_are_shared_out_and_kept_at_least_once(flags: str, bytes_each: int) -> None:
    assert _cell(asked(flags)).planned == bytes_each


@pytest.mark.parametrize("tp", [1, 8])
def test_a_latent_vector_is_on_every_rank(tp: int) -> None:
    assert _cell(asked(f"--tp-size {tp}", model=KIMI)).planned == 70272


def test_sparse_attention_in_fp8_is_built_larger_than_planned_up_to_0_5_16() -> None:
    hopper = replace(RTX_PRO_6000, sm=90)
    flags = "--kv-cache-dtype fp8_e4m3"
    old = _cell(asked(flags, model=SPARSE, gpus=hopper))
    assert (old.planned, old.built) == (78 * (576 + 132), 78 * (656 + 132))
    new = _cell(asked(flags, "0.5.23", model=SPARSE, gpus=hopper))
    assert new.planned == new.built == old.built


def test_sparse_attention_on_blackwell_keeps_the_plain_layout() -> None:
    found = _cell(asked("--kv-cache-dtype fp8_e4m3", model=SPARSE))
    assert found.planned == found.built == 55224


def test_a_draft_s_layer_is_in_the_cell_from_0_5_14_on() -> None:
    draft = Draft(Files(), Model(layers=1))
    flags = "--speculative-algorithm EAGLE3 --speculative-num-draft-tokens 4"
    one = 8 * 256 * 2
    assert _cell(asked(flags, "0.5.12", draft=draft)).planned == 36 * one
    assert _cell(asked(flags, "0.5.14", draft=draft)).planned == 37 * one


def test_a_sliding_window_is_not_guessed() -> None:
    found = worked_out(asked("", model=replace(SMALL, sliding_window=4096)))
    assert isinstance(found, str)
    assert "sliding window" in found


@pytest.mark.parametrize("unknown", ["kv_heads", "layers", "kv_dtype_bytes", "weights_gib"])
def test_an_unknown_fact_gives_no_prediction_and_no_reason(unknown: str) -> None:
    question = asked("--mem-fraction-static 0.2", model=replace(SMALL, **{unknown: None}))
    assert isinstance(worked_out(question), str)
    assert reasons(question) == {}


@pytest.mark.parametrize(
    "flags",
    ["--cpu-offload-gb 20", "--kt-weight-path /x", "--quantization fp8", "--enable-lora"],
)
def test_weights_that_are_not_what_the_files_hold_are_not_guessed(flags: str) -> None:
    assert isinstance(worked_out(asked(flags)), str)


def test_states_take_their_share_before_the_kv_cache() -> None:
    question = asked("--mem-fraction-static 0.88 --mamba-ssm-dtype bfloat16", model=HYBRID)
    held = _predicted(question, LOGGED).pool.states
    rest = 40.0 - 94.5 * 0.12
    assert held is not None and held.slots is not None
    size = slot_bytes(question, resolve(question))
    assert size == 48 * (30720 * 2 + 48 * 128 * 128 * 2)
    assert held.slots == int(rest * 0.9 / 1.9 * 2**30 // size)
    assert held.gib == pytest.approx(held.budget_left_gib * 0.9, rel=0.02)


def test_the_padding_slot_is_counted_from_0_5_17_on() -> None:
    flags = "--mem-fraction-static 0.88"
    old = _predicted(asked(flags, "0.5.12", model=HYBRID), LOGGED).pool.states
    new = _predicted(asked(flags, "0.5.17", model=HYBRID), LOGGED).pool.states
    assert old is not None and new is not None and old.slots is not None
    assert new.slots == old.slots - 1


@pytest.mark.parametrize(
    ("flags", "slots"),
    [
        ("--max-mamba-cache-size 360", 360),
        ("--disable-radix-cache --max-running-requests 20", 20),
    ],
)
def test_slots_that_are_asked_for_are_taken(flags: str, slots: int) -> None:
    held = _predicted(asked(f"{flags} --mem-fraction-static 0.88", model=HYBRID), LOGGED)
    assert held.pool.states is not None and held.pool.states.slots == slots


@pytest.mark.parametrize(
    ("flags", "slots"),
    [
        ("--disable-radix-cache", 1),
        ("", 3),
        ("--mamba-scheduler-strategy extra_buffer", 5),
        ("--mamba-scheduler-strategy extra_buffer --disable-overlap-schedule", 4),
        ("--mamba-radix-cache-strategy extra_buffer_lazy", 4),
    ],
)
def test_slots_that_one_request_needs(flags: str, slots: int) -> None:
    assert slots_per_request(asked(flags, model=HYBRID)) == slots


def test_an_unknown_state_still_tells_its_share() -> None:
    unknown = replace(HYBRID, linear=None)
    flags = "--mem-fraction-static 0.88"
    known = _predicted(asked(flags, model=HYBRID), LOGGED).pool.tokens
    assert _predicted(asked(flags, model=unknown), LOGGED).pool.tokens == pytest.approx(
        known, rel=0.01
    )


def test_states_under_verification_come_out_of_the_budget() -> None:
    # 64 requests x 16 tokens of 49 MB states: 48.75 GiB in one log of the field.
    flags = (
        "--speculative-algorithm DFLASH --speculative-num-draft-tokens 16 "
        "--max-running-requests 64 --mem-fraction-static 0.88 --max-mamba-cache-size 64"
    )
    roomy = replace(HYBRID, state_slot_bytes=49 << 20, linear=None)
    held = _predicted(asked(flags, model=roomy), Logged(before_gib=94.0, after_gib=80.0))
    assert held.pool.states is not None
    assert held.pool.states.verify_gib == pytest.approx((64 // 3 + 1) * 16 * 49 / 1024)


def test_aiter_keeps_fifteen_per_cent_of_a_long_context_s_fraction() -> None:
    amd = Gpus(kind="MI355X 288GB", memory_mib=294896, free_gib=287.0)
    short = asked(
        "--attention-backend aiter --mem-fraction-static 0.5 --context-length 8192", gpus=amd
    )
    long = asked("--attention-backend aiter --mem-fraction-static 0.5", gpus=amd)
    assert _predicted(short).fraction == 0.5
    assert _predicted(long).fraction == pytest.approx(0.425)


def test_the_table_of_requests_to_tokens_takes_its_part() -> None:
    text = replace(KIMI, multimodal=False, weights_gib=80.0)
    found = _predicted(asked("--tp-size 8", model=text)).pool
    assert found.requests == max(2048, int(found.tokens / 262144 * 512))
    assert found.table_gib == pytest.approx((found.requests + 1) * (262144 + 4) * 4 / 2**30)


def test_the_cpu_is_predicted_by_nobody() -> None:
    assert reasons(asked("--device cpu --tp-size 1", model=replace(SMALL, weights_gib=900.0))) == {}


@given(st.floats(0.3, 0.98), st.floats(20, 180), st.floats(0.05, 0.9))
def test_more_memory_never_makes_fewer_tokens(fraction: float, free: float, used: float) -> None:
    flags = f"--mem-fraction-static {fraction}"
    small = _predicted(asked(flags), Logged(before_gib=free, after_gib=free * (1 - used)))
    large = _predicted(asked(flags), Logged(before_gib=free + 1, after_gib=free * (1 - used) + 1))
    assert large.pool.tokens >= small.pool.tokens
    assert small.starts == (small.fraction > small.rest.least_fraction) or small.pool.tokens < 2
