"""Our own rows: each fires on its own example and not on its near miss, and the incidents."""

import dataclasses
import datetime
from typing import Any

import pytest

from stoker.serving import rules
from stoker.serving.checking.reason import Verdict
from stoker.serving.rules import examples
from stoker.serving.rules.rule import Rule
from tests.serving.rules.asked import question

ROWS = rules.load()
TODAY = datetime.date(2026, 11, 30)
TREE = {"NCCL_ALGO": "Tree"}
SEGMENTS = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}


def check(*given: Any, **more: Any) -> Verdict:
    return rules.check(question(*given, **more), ROWS, today=TODAY)


def classes(verdict: Verdict) -> dict[str, str]:
    return {reason.name: reason.severity for reason in verdict.reasons}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_fires_on_its_example_and_not_on_its_near_miss(row: Rule) -> None:
    assert list(examples.problems(row)) == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_says_a_sentence_of_facts_and_what_to_do(row: Rule) -> None:
    said = rules.check(examples.question(row.fires), [row], today=TODAY).reasons[0]
    for words in (said.message, said.hint):
        assert words == words.strip() and not words.endswith(".") and "  " not in words
        assert "{" not in words and "None" not in words
    assert said.rule == row.id and said.severity == row.severity


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_does_not_fire_on_a_fact_that_nobody_knows(row: Rule) -> None:
    for unknown in ("gpu", "model", "software"):
        if getattr(row.fires, unknown):
            blind = dataclasses.replace(row.fires, **{unknown: {}})
            assert rules.check(examples.question(blind), [row], today=TODAY).reasons == ()


def test_inc6_nccl_algo_tree_over_eight_ranks_is_refused() -> None:
    env = {
        "NCCL_ALGO": "Tree",
        "NCCL_MIN_NCHANNELS": "16",
        "NCCL_MAX_NCHANNELS": "32",
        "NCCL_BUFFSIZE": "8388608",
    }
    verdict = check({"tp-size": 8, "num-continuous-decode-steps": 4}, env)
    assert verdict.word == "refuse"
    assert classes(verdict) == {"nccl_algo": "refuse", "nccl_channels": "warn", "no_effect": "warn"}
    assert "8 ranks" in verdict.reasons[0].message and "allreduce:tree" in verdict.reasons[0].hint


def test_inc7_the_suspects_of_a_death_without_a_line_are_warned_of() -> None:
    env = {"NCCL_MIN_NCHANNELS": "16", "NCCL_MAX_NCHANNELS": "32", "NCCL_BUFFSIZE": "8388608"}
    verdict = check({"tp-size": 8, "num-continuous-decode-steps": 4}, env)
    assert classes(verdict) == {"nccl_channels": "warn", "no_effect": "warn"}


@pytest.mark.parametrize(
    ("sglang", "flags", "name"),
    [
        ("0.5.12", {"enable-flashinfer-allreduce-fusion": True}, "no_effect"),
        ("0.5.23", {"flashinfer-allreduce-fusion-backend": "trtllm"}, "no_effect"),
        ("0.5.23", {"enable-flashinfer-allreduce-fusion": True}, "no_effect"),
    ],
)
def test_inc8_all_reduce_fusion_on_sm120_is_warned_of_with_its_price(
    sglang: str, flags: dict[str, Any], name: str
) -> None:
    verdict = check({"tp-size": 8, **flags}, sglang=sglang)
    assert classes(verdict) == {name: "warn"}
    assert "236 instead of 1867" in verdict.reasons[0].message


@pytest.mark.parametrize(
    "value",
    ["Tree", "tree", "TREE", "CollNetChain", "NVLSTree", "Tree,CollnetChain", "allgather:tree",
     "ring;allgather:tree", "^ring,nvls,collnetdirect,pat", "NVLS", "PAT", "CollNetDirect,Tree",
     "^ring", "allreduce:nvls", "Tree, Ring", "trees"],
)  # fmt: skip
def test_a_value_without_a_way_for_all_gather_is_refused_once(value: str) -> None:
    assert [r.severity for r in check({"tp-size": 2}, {"NCCL_ALGO": value}).reasons] == ["refuse"]


@pytest.mark.parametrize(
    "value",
    ["Ring", "ring", "Tree,Ring", "^Tree", "allreduce:tree", "allreduce:tree;broadcast:ring", "",
     "NVLS,Ring", "^NVLS,NVLSTree", "allreduce:^nvls"],
)  # fmt: skip
def test_a_value_that_leaves_the_ring_is_right(value: str) -> None:
    assert check({"tp-size": 8}, {"NCCL_ALGO": value}).reasons == ()


def test_one_rank_has_no_collectives() -> None:
    assert check({"tp-size": 1}, TREE).reasons == ()
    assert check({}, TREE).reasons == ()


@pytest.mark.parametrize(
    ("flags", "env", "host", "fires"),
    [
        ({"tp-size": 2}, SEGMENTS, {}, True),
        ({"tp-size": 8}, {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}, {}, True),
        ({"tp-size": 4}, {"PYTORCH_ALLOC_CONF": "max_split_size_mb:64, expandable_segments: True"},
         {"unprivileged": True}, True),
        ({"tp-size": 2}, {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False"}, {}, False),
        ({"tp-size": 2}, {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}, {}, False),
        ({"tp-size": 2}, SEGMENTS,
         {"unprivileged": False}, False),
        ({"tp-size": 1}, SEGMENTS, {}, False),
        ({"tp-size": 2, "disable-custom-all-reduce": True},
         SEGMENTS, {}, False),
    ],
)  # fmt: skip
def test_expandable_segments_count_where_ranks_share_memory_in_an_unprivileged_container(
    flags: dict[str, Any], env: dict[str, str], host: dict[str, Any], fires: bool
) -> None:
    expected = {"expandable_segments": "warn"} if fires else {}
    assert classes(check(flags, env, host=host)) == expected


@pytest.mark.parametrize(
    ("flags", "sm", "fires"),
    [
        ({"attention-backend": "fa3"}, 120, True),
        ({"prefill-attention-backend": "fa3"}, 100, True),
        ({"decode-attention-backend": "fa4"}, 120, True),
        ({"attention-backend": "fa3"}, 90, False),
        ({"attention-backend": "fa4"}, 100, False),
        ({"attention-backend": "flashinfer"}, 120, False),
        ({}, 120, False),
    ],
)
def test_flash_attention_3_and_4_are_refused_where_they_have_no_kernels(
    flags: dict[str, Any], sm: int, fires: bool
) -> None:
    verdict = check(flags, gpu={"sm": sm, "count": 1})
    assert classes(verdict) == ({"backend_unsupported": "refuse"} if fires else {})


def test_what_nobody_knows_refuses_nothing_and_is_noted_where_the_flag_set_speaks_of_it() -> None:
    verdict = check({"attention-backend": "fa3"}, gpu={}, model={})
    assert verdict.reasons == ()
    (note,) = verdict.notes
    assert "fa3-on-blackwell" in note and "gpu sm not known" in note
    assert check({}, gpu={}, model={}) == Verdict()


def test_a_model_that_nobody_read_makes_no_notes() -> None:
    assert check({"attention-backend": "flashinfer"}, model={}) == Verdict()
    (note,) = check({"attention-backend": "flashinfer"}, model={"heads": 8}).notes
    assert "gpt-oss-attention" in note and "model arch not known" in note


def test_a_row_past_its_day_warns_where_it_refused_and_says_so() -> None:
    row = next(row for row in ROWS if row.id == "nccl-algo-no-all-gather")
    assert row.recheck is not None
    asked = question({"tp-size": 2}, TREE)
    before = rules.check(asked, [row], today=row.recheck - datetime.timedelta(days=1)).reasons[0]
    after = rules.check(asked, [row], today=row.recheck).reasons[0]
    assert (before.severity, after.severity) == ("refuse", "warn")
    assert f"wants a re-check since {row.recheck}" in after.message
