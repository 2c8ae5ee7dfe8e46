"""The shipped flag sets and our own rows, read with the parsers that SGLang has."""

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from stoker.serving import fitting, rules
from stoker.serving.catalogue import parsing, recorded
from stoker.serving.checking.asking import Facts, question
from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Gpus, Host
from stoker.serving.flagset import FlagSet
from stoker.serving.loading import load
from stoker.serving.placement import units_of
from stoker.serving.rules import examples
from stoker.serving.rules.rule import Condition, Rule
from tests.serving.flagsets import CUDA, VENV

SHIPPED = Path(__file__).parents[3] / "group_data" / "flagsets"
ROWS = rules.load()
TODAY = datetime.date(2026, 11, 30)
EIGHT = Gpus(kind="RTX PRO 6000", sm=120, count=8, memory_mib=97887)
MODELS = {
    "glm-5-nvfp4": Model(
        arch="GlmMoeDsaForCausalLM",
        heads=64,
        mla=True,
        index_head_dim=128,
        max_position=202752,
        quantization="modelopt_fp4",
    ),
    "kimi-k2.5": Model("KimiK25ForConditionalGeneration", heads=64, mla=True, max_position=262144),
    "qwen3.6-27b": Model(
        "Qwen3_5ForConditionalGeneration",
        heads=24,
        kv_heads=4,
        hybrid_mamba=True,
        max_position=262144,
    ),
}
MODELS["kimi-k2.5-eagle3"] = MODELS["kimi-k2.5"]


def shipped() -> tuple[FlagSet, ...]:
    return load(SHIPPED, sorted(path.stem for path in SHIPPED.glob("*.yaml")))


@pytest.mark.parametrize("flagset", shipped(), ids=lambda flagset: flagset.name)
def test_a_shipped_flag_set_is_not_refused_on_its_own_machine(flagset: FlagSet) -> None:
    facts = Facts(EIGHT, Host(unprivileged=True), MODELS.get(flagset.name))
    for unit in units_of(flagset, VENV, CUDA):
        words, env = unit.argv[2:], dict(unit.environment)
        asked = question(unit.name, unit.sglang, words, env, facts)
        found = (*rules.check(asked, ROWS).reasons, *fitting.check(asked))
        assert [reason for reason in found if reason.severity == "refuse"] == []
        if flagset.name != "glm-5-nvfp4":
            assert found == ()


def words(rule: Rule) -> list[str]:
    told = ["--model-path", "/m"]
    for name, value in rule.fires.flags.items():
        told += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return told


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_fires_through_the_parser_of_its_version_and_every_flag_is_known_there(
    row: Rule,
) -> None:
    catalogue = recorded.load(row.fires.sglang)
    assert catalogue is not None
    parsed, problems = parsing.parse(words(row), catalogue)
    assert [problem for problem in problems if problem.kind != "deprecated"] == []
    verdict = rules.check(examples.question(row.fires, parsed, catalogue), [row], today=TODAY)
    assert [reason.rule for reason in verdict.reasons] == [row.id]


def named(when: Condition) -> Iterator[str]:
    yield from (name for name, _ in when.matches)
    for branch in when.any:
        yield from named(branch)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_asks_for_flags_that_some_version_of_its_range_has(row: Rule) -> None:
    within = [v for v in recorded.versions() if not row.when.sglang or v in range_of(row)]
    for name in named(row.when):
        section, _, flag = name.partition(".")
        if section == "flags":
            assert set(recorded.knowing(f"--{flag}")) & set(within), flag


def range_of(row: Rule) -> SpecifierSet:
    return SpecifierSet(row.when.sglang, prereleases=True)
