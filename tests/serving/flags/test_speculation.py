"""A speculative algorithm without all that it needs dies late in SGLang, and here at once."""

import pytest

from stoker.serving.checking.model import Model
from tests.serving.flags.asked import only, reasons

LLAMA = Model(arch="LlamaForCausalLM")
DRAFT = ("--speculative-draft-model-path", "/d")
STEPS = ("--speculative-num-steps", "3")
TOPK = ("--speculative-eagle-topk", "1")
TREE = ("--speculative-eagle-topk", "4")
TOKENS = ("--speculative-num-draft-tokens", "4")


def algorithm(name: str) -> tuple[str, str]:
    return ("--speculative-algorithm", name)


@pytest.mark.parametrize("name", ["EAGLE", "EAGLE3", "NEXTN", "STANDALONE"])
@pytest.mark.parametrize("version", ["0.5.6", "0.5.12", "0.5.23"])
def test_a_whole_set_is_not_spoken_of(name: str, version: str) -> None:
    words = (*algorithm(name), *DRAFT, *STEPS, *TOPK, *TOKENS)
    assert reasons(*words, sglang=version, model=LLAMA) == []
    assert reasons(*algorithm(name), *DRAFT, sglang=version, model=LLAMA) == []


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        (STEPS, "--speculative-eagle-topk and --speculative-num-draft-tokens"),
        (TOKENS, "--speculative-num-steps and --speculative-eagle-topk"),
        ((*TOPK, *TOKENS), "--speculative-num-steps"),
        ((*STEPS, *TOKENS), "--speculative-eagle-topk"),
        ((*STEPS, *TREE), "--speculative-num-draft-tokens"),
    ],
)
def test_a_part_of_the_three_is_refused(given: tuple[str, ...], missing: str) -> None:
    reason = only(*algorithm("EAGLE3"), *DRAFT, *given, model=LLAMA)
    assert (reason.name, reason.severity) == ("spec_companion_missing", "refuse")
    assert reason.hint == f"add {missing}"


def test_one_branch_needs_no_draft_tokens() -> None:
    assert reasons(*algorithm("EAGLE3"), *DRAFT, *STEPS, *TOPK, model=LLAMA) == []


def test_a_model_without_draft_layers_needs_a_draft_model() -> None:
    reason = only(*algorithm("eagle3"), model=LLAMA)
    assert (reason.name, reason.severity) == ("spec_draft_missing", "refuse")
    assert "LlamaForCausalLM has no draft layers of its own" in reason.message


@pytest.mark.parametrize(
    "model",
    [
        Model(arch="DeepseekV3ForCausalLM"),
        Model(arch="Qwen3NextForCausalLM"),
        Model(arch="OtherForCausalLM", built_in_draft=True),
        None,
    ],
)
def test_a_model_that_may_have_draft_layers_needs_none(model: Model | None) -> None:
    assert reasons(*algorithm("NEXTN"), model=model) == []


@pytest.mark.parametrize("name", ["STANDALONE", "DFLASH"])
def test_some_algorithms_need_a_draft_model_of_any_model(name: str) -> None:
    reason = only(*algorithm(name), model=Model(arch="DeepseekV3ForCausalLM"))
    assert reason.name == "spec_draft_missing"


def test_the_others_need_none() -> None:
    assert reasons(*algorithm("NGRAM"), model=LLAMA) == []


def test_an_algorithm_of_a_later_version_is_refused_with_it() -> None:
    reason = only(*algorithm("DSPARK"))
    assert (reason.name, reason.severity) == ("flag_bad_value", "refuse")
    assert reason.hint == "install 0.5.16 or later"


def test_a_mistyped_algorithm_is_told_with_the_nearest() -> None:
    assert only(*algorithm("EAGLE-3")).hint == "use EAGLE3"
    assert only(*algorithm("EAGLE4"), *STEPS, sglang="0.5.6").name == "flag_bad_value"


def test_draft_flags_without_an_algorithm_are_told_to_do_nothing() -> None:
    reason = only(*DRAFT, *STEPS)
    assert (reason.name, reason.severity) == ("spec_companion_missing", "warn")
    assert "do nothing without --speculative-algorithm" in reason.message


def test_the_command_of_inc4_is_refused_with_the_right_flag_and_what_it_needs() -> None:
    line = (*algorithm("EAGLE3"), *TOPK, "--num-speculative-tokens", "16", *DRAFT)
    unknown, missing = reasons(*line, model=LLAMA)
    assert unknown.hint.startswith("use --speculative-num-draft-tokens")
    assert missing.hint == "add --speculative-num-steps"
