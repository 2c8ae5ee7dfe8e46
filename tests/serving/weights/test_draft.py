"""Drafts that fit their target and drafts that do not; INC5's is among them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.weights import rows
from stoker.serving.weights.files import Draft, Files
from tests.serving.weights import given as make
from tests.serving.weights.given import looked
from tests.serving.weights.test_checks import question, reasons

TARGET = Model(arch="LlamaForCausalLM", hidden=8, vocabulary=16, layers=4, heads=2)


def asked(draft: Draft | None, sglang: str = "0.5.9", **values: Any) -> Question:
    values = {"speculative_algorithm": "EAGLE3", "speculative_draft_model_path": "/d"} | values
    return replace(question(sglang, **values), model=TARGET, draft=draft)


def of(directory: Path, sglang: str = "0.5.9", **values: Any) -> list[Reason]:
    return reasons(asked(looked(directory).draft, sglang, **values))


def config(**changed: Any) -> dict[str, Any]:
    return {**make.EAGLE3, **changed}


@pytest.mark.parametrize("sglang", ["0.5.6", "0.5.9", "0.5.12", "0.5.23"])
def test_a_right_draft_gives_no_reason(tmp_path: Path, sglang: str) -> None:
    assert of(make.draft(tmp_path), sglang) == []


@pytest.mark.parametrize("prefix", ["layers.0.", "model.layers.0."])
def test_a_layer_under_a_name_that_is_not_loaded_is_refused_with_the_way_out(
    tmp_path: Path, prefix: str
) -> None:
    make.draft(tmp_path, make.draft_shapes(prefix))
    (reason,) = of(tmp_path, "0.5.11")
    assert (reason.name, reason.severity) == ("draft_mismatch", "refuse")
    assert reason.message.startswith(
        f"10 of the 16 tensors of {tmp_path} are named {prefix}*, and LlamaForCausalLMEagle3 of "
        "SGLang 0.5.11 takes only midlayer.* or model.midlayer.*"
    )
    assert f"renamed_from: {tmp_path}" in reason.hint


def test_from_0_5_12_both_names_are_loaded(tmp_path: Path) -> None:
    make.draft(tmp_path, make.draft_shapes("layers.0."))
    assert of(tmp_path, "0.5.12") == of(tmp_path, "0.5.23") == []


def test_names_that_no_version_loads_are_refused_by_each(tmp_path: Path) -> None:
    make.draft(tmp_path, make.draft_shapes("draft_model.midlayer."))
    (reason,) = of(tmp_path, "0.5.23")
    assert "are named draft_model.midlayer.*" in reason.message


def test_a_draft_without_its_head_is_refused_unless_it_shares_the_targets(tmp_path: Path) -> None:
    shapes = make.draft_shapes()
    del shapes["lm_head.weight"]
    (reason,) = of(make.draft(tmp_path, shapes))
    assert "has no lm_head" in reason.message
    assert of(make.draft(tmp_path, shapes, config(draft_vocab_size=None))) == []
    assert of(make.draft(tmp_path, shapes, config(tie_word_embeddings=True))) == []


def test_a_draft_that_lacks_a_part_is_refused_by_its_name(tmp_path: Path) -> None:
    shapes = make.draft_shapes()
    del shapes["fc.weight"]
    (reason,) = of(make.draft(tmp_path, shapes))
    assert "lacks fc" in reason.message


def test_another_targets_draft_is_refused_by_its_width(tmp_path: Path) -> None:
    (reason,) = of(make.draft(tmp_path, None, config(hidden_size=16)))
    assert "made for a target of hidden size 16, this one has 8" in reason.message
    narrow = config(hidden_size=16, target_hidden_size=8)
    assert of(make.draft(tmp_path, None, narrow)) == []


def test_a_projection_that_joins_other_layers_is_refused(tmp_path: Path) -> None:
    shapes = {**make.draft_shapes(), "fc.weight": (8, 32)}
    (reason,) = of(make.draft(tmp_path, shapes))
    assert "fc of" in reason.message and "takes 32 values" in reason.message
    four = config(eagle_config={"eagle_aux_hidden_state_layer_ids": [1, 2, 3, 4]})
    assert of(make.draft(tmp_path, shapes, four)) == []


def test_another_vocabulary_is_refused_and_a_mapped_part_of_it_is_not(tmp_path: Path) -> None:
    (reason,) = of(make.draft(tmp_path, None, config(vocab_size=20)))
    assert "a vocabulary of 20 tokens, the target 16" in reason.message
    shapes = make.draft_shapes()
    del shapes["d2t"]
    (reason,) = of(make.draft(tmp_path, shapes))
    assert "proposes 12 of the target's 16 tokens and has no d2t" in reason.message


@pytest.mark.parametrize(
    ("arch", "algorithm", "sglang", "said"),
    [
        ("LlamaForCausalLM", "EAGLE3", "0.5.12", "which is no EAGLE3 draft"),
        ("LlamaForCausalLMEagle", "EAGLE3", "0.5.12", "a draft for EAGLE and not for EAGLE3"),
        ("LlamaForCausalLMEagle3", "NEXTN", "0.5.12", "a draft for EAGLE3 and not for EAGLE"),
        ("Eagle3DeepseekV2ForCausalLM", "EAGLE3", "0.5.9", "0.5.12 is the first that does"),
    ],
)
def test_a_draft_of_a_kind_that_cannot_be_used_is_refused(
    arch: str, algorithm: str, sglang: str, said: str
) -> None:
    draft = Draft(Files("/d"), Model(arch=arch))
    (reason,) = reasons(asked(draft, sglang, speculative_algorithm=algorithm))
    assert said in reason.message


def test_a_kind_that_nobody_recorded_is_not_judged() -> None:
    draft = Draft(Files("/d"), Model(arch="SomethingEagle3New"))
    assert reasons(asked(draft, "0.6.0")) == []


@pytest.mark.parametrize("arch", ["Gemma4AssistantForCausalLM", "SomethingNew"])
def test_a_kind_of_another_width_than_its_target_is_not_measured_by_it(arch: str) -> None:
    draft = Draft(Files("/d"), Model(arch=arch, hidden=2, vocabulary=3))
    assert reasons(asked(draft, "0.5.23", speculative_algorithm="NEXTN")) == []


def test_a_small_model_of_the_same_family_may_be_padded_otherwise() -> None:
    draft = Draft(Files("/d"), Model(arch="Qwen2ForCausalLM", hidden=2, vocabulary=151936))
    given = asked(draft, speculative_algorithm="STANDALONE")
    target = replace(TARGET, vocabulary=152064)
    assert reasons(replace(given, model=target)) == []
    (reason,) = reasons(replace(given, model=replace(TARGET, vocabulary=128256)))
    assert "a vocabulary of 151936 tokens" in reason.message


@pytest.mark.parametrize("sglang", ["0.5.8", "0.0.0.dev11582", "of our own"])
def test_a_version_that_nobody_recorded_is_not_said_to_lack_a_kind(sglang: str) -> None:
    draft = Draft(Files("/d"), Model(arch="MistralLarge3ForCausalLMEagle"))
    assert reasons(asked(draft, sglang, speculative_algorithm="EAGLE")) == []
    (reason,) = reasons(asked(draft, "0.5.6", speculative_algorithm="EAGLE"))
    assert "0.5.9 is the first that does" in reason.message


def test_a_build_from_source_is_taken_for_the_newest(tmp_path: Path) -> None:
    make.draft(tmp_path, make.draft_shapes("layers.0."))
    assert of(tmp_path, "0.0.0.dev11582") == []
    assert of(tmp_path, "0.5.12rc1") == []


def test_more_than_one_layer_needs_a_version_that_takes_them(tmp_path: Path) -> None:
    make.draft(tmp_path, None, config(num_hidden_layers=2))
    (reason,) = of(tmp_path, "0.5.11")
    assert "has 2 layers" in reason.message
    assert of(tmp_path, "0.5.12") == []


def test_the_target_as_its_own_draft_is_refused_where_it_has_none_in_it() -> None:
    given = {"speculative_draft_model_path": "/m"}
    (reason,) = reasons(asked(None, **given))
    assert "is the target itself" in reason.message
    eagle = asked(None, **given, speculative_algorithm="EAGLE")
    assert len(reasons(eagle)) == 1
    assert reasons(replace(eagle, model=replace(TARGET, built_in_draft=True))) == []
    assert reasons(replace(eagle, model=None)) == []


def test_a_draft_that_is_not_whole_is_refused_as_a_model_is(tmp_path: Path) -> None:
    path = make.draft(tmp_path) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4])
    assert [reason.name for reason in of(tmp_path)] == ["weights_incomplete"]
    (reason,) = of(tmp_path / "none")
    assert reason.name == "model_missing"


def test_without_speculation_nobody_asks_for_the_draft(tmp_path: Path) -> None:
    assert of(tmp_path / "none", speculative_algorithm=None) == []


def test_what_a_case_does_not_say_of_a_draft_is_not_held_against_it() -> None:
    assert reasons(asked(Draft(Files()))) == []


def test_a_part_of_the_names_is_judged_by_what_it_says_alone() -> None:
    some = Draft(Files(), keys=("midlayer.self_attn.q_proj.weight",))
    assert reasons(asked(some)) == []
    some = Draft(Files(), keys=("layers.0.self_attn.q_proj.weight",))
    assert [reason.name for reason in reasons(asked(some))] == ["draft_mismatch"]


def test_every_row_says_where_it_is_from_and_holds_for_some_version() -> None:
    for row in rows.drafts():
        assert row.source and row.holds(row.since), row
        assert row.before is None or not row.holds(row.before), row
        assert row.absent is None or (row.lacked_by(row.absent) and not row.lacked_by(row.since))
