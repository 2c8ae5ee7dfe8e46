"""SGLang's default fraction, against what its own code answered and what logs show."""

from dataclasses import replace

import pytest

from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Gpus
from stoker.serving.memory.reserve import Reserve, default_fraction, reserve
from stoker.serving.memory.settings import resolve
from tests.serving.memory.asked import KIMI, SMALL, asked

MLA = replace(KIMI, arch="DeepseekV3ForCausalLM", multimodal=False)
H100 = Gpus(kind="NVIDIA H100 80GB HBM3", sm=90, memory_mib=81559)


def _default(flags: str, model: Model = SMALL, sglang: str = "0.5.12", **facts: Gpus) -> float:
    question = asked(flags, sglang, model=model, **facts)
    fraction = default_fraction(resolve(question), model)
    assert fraction is not None
    return fraction


def _reserve(flags: str, model: Model | None = SMALL, sglang: str = "0.5.12") -> Reserve:
    return reserve(resolve(asked(flags, sglang, model=model)), model)


@pytest.mark.parametrize("sglang", ["0.5.12", "0.5.23"])
def test_what_sglang_itself_answered_on_a_card_of_96_gb(sglang: str) -> None:
    assert _default("--chunked-prefill-size 4096", sglang=sglang) == 0.895
    assert _default("--tp-size 8 --chunked-prefill-size 8192", sglang=sglang) == 0.844


def test_what_logs_of_an_h100_show() -> None:
    assert _default("", gpus=H100, sglang="0.5.20") == 0.83
    graphs_off = "--tp-size 8 --disable-cuda-graph"
    assert _default(graphs_off, MLA, "0.5.23", gpus=H100) == 0.831


def test_a_model_that_sees_has_less_by_its_vision_part() -> None:
    eyes = replace(KIMI, vision_layers=27, vision_hidden=1152)
    mi355x = Gpus(kind="AMD MI355X", memory_mib=294896)
    assert _default("--tp-size 8", eyes, "0.5.9", gpus=mi355x) == pytest.approx(
        0.8260405859375, abs=1e-9
    )


def test_of_a_model_that_sees_nothing_is_told_without_its_vision_part() -> None:
    assert default_fraction(resolve(asked("", model=KIMI)), KIMI) is None


@pytest.mark.parametrize(
    ("flags", "model", "on"),
    [
        ("", MLA, True),
        ("--enable-hierarchical-cache", MLA, False),
        ("--pp-size 2", MLA, False),
        ("--dp-size 2 --tp-size 2 --enable-dp-attention", MLA, False),
        ("--disable-piecewise-cuda-graph", MLA, False),
        ("--cpu-offload-gb 8", MLA, False),
        ("", replace(MLA, arch="DeepseekV32ForCausalLM", index_head_dim=128), False),
        ("", replace(MLA, multimodal=True), False),
        ("--enforce-piecewise-cuda-graph", replace(MLA, multimodal=True), True),
    ],
)
def test_mla_s_prefill_graphs_are_on_in_0_5_12_unless_turned_off(
    flags: str, model: Model, on: bool
) -> None:
    terms = dict(_reserve(flags, model).terms)
    assert terms.get("for prefill graphs") == (1536.0 if on else None)


@pytest.mark.parametrize(
    ("sglang", "algorithm", "mib"),
    [
        ("0.5.9", "EAGLE", 2048),
        ("0.5.12", "EAGLE3", 4096),
        ("0.5.12", "STANDALONE", 6144),
        ("0.5.12", "NGRAM", 0),
        ("0.5.14", "EAGLE", 0),
        ("0.5.23", "STANDALONE", 0),
    ],
)
def test_drafts_have_a_reserve_of_their_own_up_to_0_5_13(
    sglang: str, algorithm: str, mib: float
) -> None:
    found = _reserve(f"--speculative-algorithm {algorithm}", sglang=sglang)
    assert found.beyond == mib
    assert found.sure_mib == found.mib - mib


def test_the_hierarchical_cache_keeps_prefill_graphs_from_0_5_15_on() -> None:
    flags = "--enable-hierarchical-cache --tp-size 8"
    assert "for prefill graphs" in dict(_reserve(flags, MLA, "0.5.23").terms)


@pytest.mark.parametrize(
    ("mib", "tp", "sglang", "chunk", "requests"),
    [
        (16303, 1, "0.5.12", 2048, 8),
        (24564, 1, "0.5.12", 2048, 24),
        (24564, 4, "0.5.12", 2048, 80),
        (24564, 1, "0.5.23", 4096, 48),
        (24564, 4, "0.5.23", 4096, 160),
        (46068, 1, "0.5.12", 4096, 32),
        (81559, 1, "0.5.12", 8192, 256),
        (97887, 8, "0.5.12", 8192, 512),
        (183359, 1, "0.5.12", 16384, 512),
    ],
)
def test_defaults_go_by_the_class_of_the_card(
    mib: int, tp: int, sglang: str, chunk: int, requests: int
) -> None:
    settings = resolve(asked(f"--tp-size {tp}", sglang, gpus=Gpus(memory_mib=mib)))
    assert (settings.chunk, settings.graphs.requests) == (chunk, requests)


def test_running_requests_cap_the_graphs_from_0_5_22_on() -> None:
    flags = "--max-running-requests 8"
    assert resolve(asked(flags, "0.5.21")).graphs.requests == 256
    assert resolve(asked(flags, "0.5.22")).graphs.requests == 8


def test_data_parallel_attention_is_padded_in_sglang_s_sum_alone() -> None:
    found = _reserve("--tp-size 8 --dp-size 8 --enable-dp-attention")
    assert found.padding == 512 * 8 * 4.5
    assert found.sure_mib == pytest.approx(found.mib - found.padding)


def test_the_sum_can_be_read() -> None:
    told = _reserve("--chunked-prefill-size 4096").sum
    assert "6,144 for 4,096 tokens at once" in told
    assert told.endswith("raised to 10,240 on a card of this size = 10,240 MiB")
