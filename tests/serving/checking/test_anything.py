"""Whatever somebody writes ends in a verdict: no check fails of itself."""

import resource
import time
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from stoker.serving import rules
from stoker.serving.catalogue import recorded
from stoker.serving.checking.asking import Facts, question
from stoker.serving.checking.judging import judge
from stoker.serving.checking.model import Linear, Model
from stoker.serving.checking.question import Gpus, Host, OtherServer
from stoker.serving.weights.files import Draft, Files

VERSIONS = ("0.5.6", "0.5.9", "0.5.12", "0.5.23", "9.9.9", "main")
ROWS = rules.load()
OPTIONS = sorted({n for v in ("0.5.12", "0.5.23") for n in recorded.names(v)})
WORTH = sorted(
    name
    for name in OPTIONS
    if any(part in name for part in ("spec", "mem", "size", "hicache", "mamba", "graph", "port"))
)
COUNTING = sorted(
    name
    for name in recorded.names("0.5.12")
    if any(part in name for part in ("size", "steps", "tokens", "mem-f", "mamba", "requests", "bs"))
)
NUMBERS = ("0", "1", "2", "6", "8", "300", "-1", "0.88", "1.5", "nan", "1e400", "99999999999")
WORDS = ("", "auto", "EAGLE3", "NGRAM", "fp8_e5m2", "trtllm_mla", "{}", "[1]", "/m", "a b", "--")
VALUES = some.sampled_from((*NUMBERS, *WORDS))
FLAGS = some.lists(
    some.one_of(some.sampled_from(WORTH), some.sampled_from(OPTIONS), VALUES), max_size=14
)
LARGE = some.sampled_from([61, 64, 128, 7168, 262144])
COUNTS = some.one_of(some.none(), some.integers(0, 9), LARGE)
SIZES = some.sampled_from([None, 0.0, 0.5, 24.0, 94.5, 449.0, 1e9, float("inf")])
TEXTS = some.sampled_from([None, "", "x", "DeepseekV3ForCausalLM", "AMD MI300X"])
ENVS = some.dictionaries(
    some.sampled_from(["NCCL_ALGO", "PYTORCH_CUDA_ALLOC_CONF", "SGLANG_ENABLE_SPEC_V2", "NCCL_X"]),
    some.sampled_from(["", "Tree", "expandable_segments:True", "1", "^Ring;x:y", "True"]),
    max_size=3,
)


def records(kind: Any, **given: some.SearchStrategy[Any]) -> some.SearchStrategy[Any]:
    """Of a dataclass, each field by its annotation; what is in `given` as it is there."""
    by_type = {"int": COUNTS, "float": SIZES, "str": TEXTS}
    found = {}
    for one in fields(kind):
        name = str(one.type).replace("<class '", "").replace("'>", "").split(" | ")[0]
        if one.name in given:
            found[one.name] = given[one.name]
        elif name == "bool":
            found[one.name] = some.booleans()
        elif name in by_type:
            found[one.name] = by_type[name]
    return some.builds(kind, **found)


LINEAR = some.builds(Linear, some.integers(1, 60), some.integers(0, 9), some.integers(0, 9))
# A reader of cases and of config.json leaves no 0 where a model cannot have one.
POSITIVE = some.one_of(some.none(), some.integers(1, 9), LARGE)
COUNTED = [
    one.name
    for one in fields(Model)
    if "int" in str(one.type) and one.name != "full_attention_layers"
]
MODELS = records(
    Model,
    linear=some.one_of(some.none(), LINEAR),
    kv_dtype_bytes=some.sampled_from([None, 0.5, 1, 2]),
    weights_gib=some.sampled_from([None, 0.01, 43.0, 594.0]),
    **dict.fromkeys(COUNTED, POSITIVE),
)
FILES = some.builds(
    Files,
    path=some.sampled_from(["", "/m"]),
    exists=some.sampled_from([None, True, False]),
    config=some.sampled_from([None, True, False]),
    index_shards=some.sampled_from([None, (), ("a", "b")]),
    present=some.sampled_from([None, (), ("a",)]),
    tokenizer=some.sampled_from([None, True, False]),
    think_end_tokens=some.sampled_from([None, 1, 3]),
)
DRAFTS = some.builds(
    Draft,
    files=FILES,
    model=some.one_of(some.none(), MODELS),
    keys=some.sampled_from(
        [(), ("layers.0.mlp.up_proj.weight",), ("midlayer.mlp.up_proj.weight",)]
    ),
)
OTHERS = some.builds(OtherServer, some.just("b"), some.just((30000, 29000)), host_gb=SIZES)
FACTS = some.builds(
    Facts,
    gpus=records(Gpus),
    host=records(Host),
    model=some.one_of(some.none(), MODELS),
    draft=some.one_of(some.none(), DRAFTS),
    files=some.one_of(some.none(), FILES),
    others=some.lists(OTHERS, max_size=2).map(tuple),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(some.sampled_from(VERSIONS), FLAGS, ENVS, FACTS)
def test_whatever_is_asked_ends_in_a_verdict_of_whole_sentences(
    version: str, words: list[str], env: dict[str, str], facts: Facts
) -> None:
    verdict = judge(question("it", version, words, env, facts), ROWS)
    for reason in verdict.reasons:
        assert reason.name and reason.message and reason.hint
        assert reason.severity in ("warn", "refuse")
    told = [(reason.name, reason.message) for reason in verdict.reasons]
    assert len(told) == len(set(told))
    assert verdict == judge(question("it", version, words, env, facts), ROWS)


def test_without_a_fact_nothing_is_refused_but_what_the_words_themselves_say() -> None:
    words = ["--model-path", "/m", "--tp-size", "8", "--enable-hierarchical-cache"]
    words += ["--hicache-size", "300", "--mem-fraction-static", "0.93"]
    for version in VERSIONS[:4]:
        assert judge(question("it", version, words, {}, Facts()), ROWS).word != "refuse"


KIMI = Model("DeepseekV3ForCausalLM", 64, layers=61, mla=True, kv_lora_rank=512, weights_gib=594.0)
LLAMA = Model("LlamaForCausalLM", 32, 8, 36, 128, kv_dtype_bytes=2, max_position=131072)
HYBRID = replace(LLAMA, hybrid_mamba=True, full_attention_layers=9, state_slot_bytes=1 << 26)
PLACE = Facts(Gpus("RTX PRO 6000", 120, 8, 97887, 94.5), Host(512, 449))


@pytest.mark.parametrize("value", ["99999999999", "-99999999999", "0", "1e300"])
def test_no_figure_of_any_option_takes_long_or_much_memory(value: str) -> None:
    usual = ("--model-path", "/m", "--tp-size", "8", "--mem-fraction-static", "0.8")
    several = ("--enable-hierarchical-cache", "--hicache-size", "9", "--device", "cuda")
    for model in (KIMI, LLAMA, HYBRID):
        facts = replace(PLACE, model=replace(model, weights_gib=43.0))
        for name in COUNTING:
            began = time.process_time()
            judge(question("it", "0.5.12", (*usual, *several, name, value), {}, facts), ROWS)
            assert time.process_time() - began < 1, name
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 << 20
