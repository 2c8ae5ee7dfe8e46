"""No KV pool, and one that is smaller than a context."""

from dataclasses import replace

import pytest

from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Gpus
from stoker.serving.checking.reason import Reason
from stoker.serving.memory import check
from tests.serving.memory.asked import KIMI, SMALL, asked, reasons

TEXT = replace(KIMI, arch="DeepseekV3ForCausalLM", multimodal=False, weights_gib=594.0)


_MORE = "more GPUs (a higher --tp-size) or smaller weights"


def _reason(found: tuple[Reason, ...], name: str) -> Reason:
    return next(reason for reason in found if reason.name == name)


def test_weights_that_leave_nothing_are_refused_with_the_least_fraction() -> None:
    found, _ = check(asked("--tp-size 8 --mem-fraction-static 0.77", model=TEXT))
    reason = _reason(found, "kv_pool_small")
    assert reason.severity == "refuse"
    assert reason.hint.startswith("--mem-fraction-static 0.79 to 0.83, or more GPUs")
    assert "94.5 GiB free x 0.770 - about 74.2 GiB of weights = -1.5 GiB" in reason.sums[0]


def test_weights_that_no_fraction_helps_want_more_gpus() -> None:
    heavy = replace(TEXT, weights_gib=8 * 89.4)
    found, _ = check(asked("--tp-size 8 --mem-fraction-static 0.92", model=heavy))
    assert _reason(found, "kv_pool_small").hint == _MORE


def test_weights_leave_nothing_whatever_the_pool_is_made_of() -> None:
    strange = Model(arch="DeepseekV4ForCausalLM", layers=61, weights_gib=8 * 88.0)
    found, _ = check(asked("--tp-size 8 --mem-fraction-static 0.88", model=strange))
    reason = _reason(found, "kv_pool_small")
    assert reason.severity == "refuse"
    assert reason.hint == f"{_MORE}; nothing below --mem-fraction-static 0.9312 starts"
    forced, _ = check(asked("--tp-size 8 --mem-fraction-static 0.94", model=strange))
    assert [(one.name, one.severity) for one in forced] == [("mem_fraction_high", "warn")]


@pytest.mark.parametrize("fraction", ["88", "0", "-0.5", "1.01"])
def test_a_fraction_that_is_none_is_a_wrong_value(fraction: str) -> None:
    (reason,) = check(asked(f"--mem-fraction-static {fraction}"))[0]
    assert (reason.name, reason.severity) == ("flag_bad_value", "refuse")
    assert "lies between 0 and 1" in reason.message


def test_a_context_that_was_asked_for_and_does_not_fit_is_refused() -> None:
    flags = "--tp-size 8 --mem-fraction-static 0.80 --context-length 65536"
    found, _ = check(asked(flags, model=TEXT))
    reason = _reason(found, "kv_pool_small")
    assert reason.severity == "refuse"
    assert "about 20,6" in reason.message
    assert reason.hint.startswith("--context-length 20480")


def test_a_model_s_own_context_that_does_not_fit_is_a_warning() -> None:
    found = reasons(asked("--tp-size 8 --mem-fraction-static 0.80", model=TEXT))
    assert found == {"kv_pool_small": "warn"}


def test_no_fraction_is_recommended_that_would_be_warned_of() -> None:
    found, _ = check(asked("--tp-size 8 --mem-fraction-static 0.88", model=TEXT))
    assert {reason.name for reason in found} == {"kv_pool_small", "mem_fraction_high"}
    assert _reason(found, "kv_pool_small").hint == f"--context-length 135168, or {_MORE}"


def test_a_pool_that_there_is_none_of_is_told_once() -> None:
    found, notes = check(asked("--tp-size 8 --mem-fraction-static 0.77", model=TEXT))
    assert len(found) == 1
    assert notes == ()


def test_a_context_that_just_fits_is_left_alone() -> None:
    flags = "--tp-size 8 --mem-fraction-static 0.80 --context-length 20480"
    assert reasons(asked(flags, model=TEXT)) == {}


def test_a_cap_below_the_context_is_a_warning_even_of_an_unknown_model() -> None:
    flags = "--max-total-tokens 4096 --context-length 8192"
    assert reasons(asked(flags, model=None)) == {"context_exceeds_kv": "warn"}
    assert reasons(asked(flags)) == {"context_exceeds_kv": "warn"}


def test_a_cap_without_a_context_is_somebody_s_wish() -> None:
    assert reasons(asked("--max-total-tokens 4096")) == {}


def test_an_estimate_that_is_nearly_enough_only_warns() -> None:
    card = Gpus(kind="NVIDIA H100 80GB HBM3", memory_mib=81559)
    model = replace(SMALL, weights_gib=78.75 * 0.8 + 0.2)
    found = reasons(asked("--mem-fraction-static 0.8", model=model, gpus=card))
    assert found == {"kv_pool_small": "warn"}


def test_a_hybrid_without_room_for_one_request_is_refused() -> None:
    hybrid = replace(
        SMALL,
        hybrid_mamba=True,
        full_attention_layers=4,
        state_slot_bytes=30 << 30,
        weights_gib=10.0,
    )
    assert reasons(asked("", model=hybrid))["kv_pool_small"] == "refuse"


def test_states_of_drafts_that_leave_no_pool_are_refused_as_that() -> None:
    hybrid = replace(
        SMALL,
        hybrid_mamba=True,
        full_attention_layers=4,
        state_slot_bytes=76 << 20,
        weights_gib=51.0,
    )
    flags = (
        "--speculative-algorithm EAGLE --speculative-num-draft-tokens 16 "
        "--max-running-requests 300 --mem-fraction-static 0.85"
    )
    found, _ = check(asked(flags, model=hybrid))
    reason = _reason(found, "kv_pool_small")
    assert reason.severity == "refuse"
    assert "of them for drafts" in reason.message
    assert reasons(asked(flags, "0.5.13", model=hybrid)).get("kv_pool_small") != "refuse"
