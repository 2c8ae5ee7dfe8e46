"""A wrong flag is named with the right one."""

from dataclasses import replace

import pytest

from stoker.serving.catalogue import recorded
from stoker.serving.flags import check
from stoker.serving.flags.nearness import nearest
from stoker.serving.flags.renames import company, known_to, rows
from stoker.serving.flags.spans import span
from tests.serving.flags.asked import only, question, reasons

RENAMED = [
    ("--mamba-scheduler-strategy", "0.5.23", "--mamba-radix-cache-strategy"),
    ("--mamba-radix-cache-strategy", "0.5.12", "--mamba-scheduler-strategy"),
    ("--stream-output", "0.5.23", "--incremental-streaming-output"),
    ("--incremental-streaming-output", "0.5.9", "--stream-output"),
    ("--nsa-prefill-backend", "0.5.23", "--dsa-prefill-backend"),
    ("--nsa-prefill-cp-mode", "0.5.23", "--cp-strategy"),
    ("--disable-piecewise-cuda-graph", "0.5.23", "--cuda-graph-backend-prefill=disabled"),
    ("--piecewise-cuda-graph-max-tokens", "0.5.23", "--cuda-graph-max-bs-prefill"),
    ("--hybrid-kvcache-ratio", "0.5.23", "--swa-full-tokens-ratio"),
    ("--keep-mm-feature-on-device", "0.5.23", "--mm-feature-transport=cuda_ipc"),
    ("--speculative-dflash-draft-window-size", "0.5.23", "--speculative-draft-window-size"),
    ("--gpu-memory-utilization", "0.5.12", "--mem-fraction-static"),
    ("--max-model-len", "0.5.12", "--context-length"),
    ("--max-num-seqs", "0.5.23", "--max-running-requests"),
    ("--num-speculative-tokens", "0.5.12", "--speculative-num-draft-tokens"),
    ("--enforce-eager", "0.5.12", "--disable-cuda-graph"),
    ("--enforce-eager", "0.5.23", "--cuda-graph-backend-{decode,prefill}=disabled"),
]
MISTYPED = [
    ("--attention-backnd", "--attention-backend"),
    ("--mem-static-fraction", "--mem-fraction-static"),
    ("--tp_size", "--tp-size"),
    ("-tp-size", "--tp-size"),
    ("--max-runing-requests", "--max-running-requests"),
    ("--Context-Length", "--context-length"),
    ("--num-draft-tokens-speculative", "--speculative-num-draft-tokens"),
    ("--enable-metric-s", "--enable-metrics"),
    ("--eagle-topk", "--speculative-eagle-topk"),
    ("--draft-model-path", "--speculative-draft-model-path"),
]


@pytest.mark.parametrize(("old", "version", "new"), RENAMED)
def test_a_renamed_flag_is_named_with_its_new_name(old: str, version: str, new: str) -> None:
    reason = only(old, "x", sglang=version)
    assert (reason.name, reason.severity) == ("flag_unknown", "refuse")
    assert reason.message.startswith(f"SGLang {version} has no option {old}")
    assert f"use {new}" in reason.hint


@pytest.mark.parametrize(("typed", "right"), MISTYPED)
def test_a_mistyped_flag_is_named_with_the_nearest(typed: str, right: str) -> None:
    reason = only(typed, "x")
    assert reason.name == "flag_unknown"
    assert reason.hint.split(",")[0] == f"use {right}"


def test_a_successors_value_that_is_gone_too_is_not_named() -> None:
    assert only("--enforce-piecewise-cuda-graph", sglang="0.5.23").hint == (
        "use --cuda-graph-backend-prefill"
    )


def test_a_long_dash_is_said_to_be_one() -> None:
    reason = only("\u2014enable-metrics")
    assert reason.hint == "write --enable-metrics"


def test_a_flag_that_is_like_none_is_only_to_be_removed() -> None:
    assert only("--frobnicate", "x").hint == "remove it"
    assert nearest("--frobnicate", ["--port", "--host"]) is None


def test_what_belongs_to_the_right_flag_is_said_with_it() -> None:
    hint = only("--num-speculative-tokens", "16").hint
    assert "--speculative-num-steps and --speculative-eagle-topk" in hint


def test_a_flag_of_other_versions_is_told_with_the_versions() -> None:
    reason = only("--disable-piecewise-cuda-graph", sglang="0.5.9")
    assert "0.5.10 to 0.5.19 have it" in reason.message
    assert reason.hint == "remove it, or install one of 0.5.10 to 0.5.19"


def test_another_programs_name_is_said_to_be_one() -> None:
    assert "which is vLLM's name" in only("--gpu-memory-utilization", "0.9").message


def test_an_abbreviation_is_told_with_the_whole_name() -> None:
    reason = only("--tp", "2")
    assert (reason.name, reason.severity) == ("flag_abbreviated", "warn")
    assert reason.hint == "write --tp-size"


def test_an_ambiguous_beginning_is_told_with_what_it_can_be() -> None:
    reason = only("--cuda-graph-max-bs", "64", sglang="0.5.23")
    assert reason.name == "flag_ambiguous"
    assert "--cuda-graph-max-bs-decode or --cuda-graph-max-bs-prefill" in reason.message
    assert reason.hint == "use --cuda-graph-max-bs-decode"
    assert only("--speculative-num", "3").name == "flag_ambiguous"


@pytest.mark.parametrize(
    ("words", "part", "hint"),
    [
        (("--enable-metrics", "true"), "a switch that takes no value", "remove it"),
        (
            ("--enable-metrics", "false"),
            "a switch",
            "remove both: a switch that is left out is off",
        ),
        (("--port", "1", "2"), "one word more than --port takes", "remove it"),
        (("--", "--port"), "belongs to no option", "write it behind the option"),
    ],
)
def test_a_word_that_no_option_takes(words: tuple[str, ...], part: str, hint: str) -> None:
    reason = reasons(*words)[0]
    assert (reason.name, reason.severity) == ("flag_unknown", "refuse")
    assert part in reason.message and reason.hint.startswith(hint)


def test_a_deprecated_flag_is_told_with_its_successor() -> None:
    reason = only("--disable-cuda-graph", sglang="0.5.23")
    assert (reason.name, reason.severity) == ("flag_deprecated", "warn")
    assert "--cuda-graph-backend-{decode,prefill}=disabled" in reason.hint
    assert "does nothing any more" in only("--prefill-round-robin-balance").message


def test_a_deprecated_flag_that_ends_the_start_is_refused() -> None:
    reason = only("--enable-expert-distribution-metrics", sglang="0.5.19")
    assert (reason.name, reason.severity) == ("flag_deprecated", "refuse")


def test_a_flag_given_twice_is_told() -> None:
    reason = only("--tp-size", "2", "--tensor-parallel-size", "4")
    assert (reason.name, reason.severity) == ("flag_duplicate", "warn")
    assert "--tp-size and --tensor-parallel-size are one option" in reason.message


def test_a_switch_given_twice_has_no_last_value() -> None:
    assert "counts" not in only("--enable-metrics", "--enable-metrics").message


def test_a_version_that_nobody_recorded_is_read_as_the_nearest() -> None:
    unknown, flag = reasons("--mamba-scheduler-strategy", "no_buffer", sglang="0.5.99")
    assert (unknown.name, unknown.severity) == ("version_unknown", "warn")
    assert "those of 0.5.23" in unknown.message
    assert unknown.hint == "make flags VERSION=0.5.99"
    assert (flag.name, flag.severity) == ("flag_unknown", "warn")


def test_a_build_of_no_release_is_read_as_the_newest_and_told_to_be_named() -> None:
    (unknown,) = reasons("--mamba-radix-cache-strategy", "no_buffer", sglang="main")
    assert "those of 0.5.23" in unknown.message
    assert "release" in unknown.hint


def test_an_installed_sglang_that_somebody_changed_is_told_with_what_is_other() -> None:
    asked = question("--enable-metrics")
    assert asked.catalogue
    fewer = replace(asked.catalogue, options=asked.catalogue.options[1:], digest="another")
    (reason,) = check(replace(asked, catalogue=fewer))
    assert (reason.name, reason.severity) == ("catalogue_differs", "warn")
    assert f"{asked.catalogue.options[0].names[0]} is not installed" in reason.message


def test_another_version_than_the_flag_sets_is_told() -> None:
    (reason,) = check(replace(question(), sglang="0.5.11"))
    assert reason.message == "SGLang 0.5.12 is installed where 0.5.11 should be"


def test_versions_that_follow_each_other_are_one_range() -> None:
    assert (
        span(["0.5.9", "0.5.10", "0.5.12.post1", "0.5.7"])
        == "0.5.7, 0.5.9 to 0.5.10 and 0.5.12.post1"
    )
    assert span(["0.5.22", "0.5.23"]) == "0.5.22 and later"


def test_each_new_name_exists_in_a_version_that_lacks_the_old_one() -> None:
    catalogues = [recorded.load(version) for version in recorded.versions()]
    for row in rows().values():
        for new in row.new:
            assert any(
                catalogue
                and known_to(new, catalogue)
                and row.old not in recorded.names(catalogue.sglang)
                for catalogue in catalogues
            ), row.old
    for name, others in company().items():
        assert all(recorded.knowing(one) for one in (name, *others))
