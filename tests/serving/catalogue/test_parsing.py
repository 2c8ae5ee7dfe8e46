"""Our reading of a command line and argparse's own must be the same."""

import functools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.serving.catalogue import recorded
from stoker.serving.catalogue.catalogue import Catalogue, Option
from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.catalogue.parsing import parse
from stoker.serving.catalogue.problem import Problem
from tests.serving.catalogue.argparser import Parser, RefusedError, parser

VERSIONS = ("0.5.6", "0.5.12", "0.5.23")


@functools.cache
def known(version: str) -> Catalogue:
    found = recorded.load(version)
    assert found is not None
    return found


@functools.cache
def real(version: str) -> Parser:
    return parser(known(version))


def read(*words: str, version: str = "0.5.12") -> tuple[Parsed, tuple[Problem, ...]]:
    return parse(("--model-path", "/m", *words), known(version))


def kinds(*words: str, version: str = "0.5.12") -> list[str]:
    return [problem.kind for problem in read(*words, version=version)[1]]


def names(option: Option) -> st.SearchStrategy[str]:
    whole = st.sampled_from(option.names)
    cut = whole.flatmap(lambda name: st.integers(6, len(name) + 2).map(lambda n: name[:n]))
    return st.one_of(whole, cut, whole.map(lambda name: f"--no-{name[2:]}"))


def values(option: Option) -> st.SearchStrategy[list[str]]:
    right = st.sampled_from(option.choices or ("4", "0.5", "true", "-1", "[1]", "{}", "8k"))
    odd = st.sampled_from(("", "x y", "-", "-x", "--", "-1.5", "1_000", "nope", "=", "--port"))
    return st.lists(st.one_of(right, right, right, odd), max_size=3)


@st.composite
def words(draw: st.DrawFn, version: str) -> list[str]:
    made: list[str] = ["--model-path", "/m"]
    for option in draw(st.lists(st.sampled_from(known(version).options), max_size=4)):
        name, given = draw(names(option)), draw(values(option))
        # `--x=--` is a value to some Pythons' argparse and none to others'.
        joined = given and given[0] != "--" and draw(st.booleans())
        made += [f"{name}={given[0]}", *given[1:]] if joined else [name, *given]
    return made


def told(version: str, line: list[str]) -> dict[str, Any] | None:
    """What the real argparse makes of it; None: it refuses, or prints its help."""
    try:
        return vars(real(version).parse_args(line))
    except (RefusedError, SystemExit):
        return None


@pytest.mark.parametrize("version", VERSIONS)
def test_it_agrees_with_argparse(version: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(words(version))
    def agrees(line: list[str]) -> None:
        parsed, problems = parse(line, known(version))
        truth = told(version, line)
        assert (truth is None) == any(one.ends_start for one in problems), (problems, truth)
        for dest in parsed.given & truth.keys() if truth else ():
            value = truth[dest] if truth else None
            assert parsed.values[dest] == (tuple(value) if isinstance(value, list) else value)

    agrees()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=12), max_size=6))
def test_nothing_makes_it_raise(line: list[str]) -> None:
    parse(line, known("0.5.12"))
    parse(line, None)


def test_values_have_the_types_and_the_defaults_of_the_version() -> None:
    parsed, problems = read("--tp-size", "8", "--mem-fraction-static=0.9", "--context-length", "8k")
    assert problems == ()
    assert (parsed.get("tp_size"), parsed.get("mem_fraction_static")) == (8, 0.9)
    assert parsed.get("context_length") == 8000
    assert parsed.get("hicache_ratio") == 2.0
    assert parsed.given >= {"model_path", "tp_size", "mem_fraction_static", "context_length"}
    assert "hicache_ratio" not in parsed.given


def test_another_spelling_of_an_option_has_the_same_dest() -> None:
    assert read("--tensor-parallel-size", "2")[0].get("tp_size") == 2


@pytest.mark.parametrize("version", ["0.5.12", "0.5.23"])
def test_a_value_has_its_old_and_its_new_name_in_every_version(version: str) -> None:
    parsed, _ = read("--tp-size", "2", version=version)
    assert parsed.get("tensor_parallel_size") == parsed.get("tp_size") == 2
    assert parsed.get("mamba_scheduler_strategy") == parsed.get("mamba_radix_cache_strategy")


def test_an_old_name_does_not_take_the_default_of_the_new_one_away() -> None:
    assert read(version="0.5.19")[0].get("speculative_attention_mode") == "prefill"
    for option in known("0.5.14").options:
        if option.default is not None and not option.deprecated:
            assert read(version="0.5.14")[0].get(option.dest) == option.default


def test_a_beginning_that_fits_one_option_is_that_option() -> None:
    parsed, (problem,) = read("--tp", "2")
    assert parsed.get("tp_size") == 2
    assert (problem.kind, problem.names) == ("abbreviated", ("--tp-size",))


def test_a_beginning_that_fits_two_options_ends_the_start() -> None:
    (problem,) = read("--cuda-graph-max-bs", "64", version="0.5.23")[1]
    assert problem.kind == "ambiguous"
    assert problem.names == ("--cuda-graph-max-bs-decode", "--cuda-graph-max-bs-prefill")


def test_a_word_behind_a_switch_belongs_to_nobody() -> None:
    (problem,) = read("--enable-metrics", "true")[1]
    assert (problem.kind, problem.word) == ("stray", "true")
    assert problem.option and problem.option.names == ("--enable-metrics",)


def test_an_unknown_option_and_its_value_are_one_problem() -> None:
    (problem,) = read("--num-speculative-tokens", "16")[1]
    assert (problem.kind, problem.word) == ("unknown", "--num-speculative-tokens")


def test_every_problem_is_told_and_not_only_the_first() -> None:
    line = ("--nope", "1", "--kv-cache-dtype", "fp8", "--page-size", "--port", "x")
    assert kinds(*line) == ["unknown", "value_refused", "value_missing", "value_refused"]


def test_the_last_of_two_values_counts() -> None:
    parsed, (problem,) = read("--tp-size", "2", "--tp-size", "4")
    assert (parsed.get("tp_size"), problem.kind) == (4, "twice")


def test_a_negative_number_is_a_value() -> None:
    parsed, problems = read("--chunked-prefill-size", "-1")
    assert (parsed.get("chunked_prefill_size"), problems) == (-1, ())


def test_a_deprecated_option_is_told_with_what_it_still_does() -> None:
    parsed, (problem,) = read("--stream-output")
    assert parsed.get("incremental_streaming_output") is True
    assert problem.kind == "deprecated" and not problem.ends_start


def test_a_model_is_required() -> None:
    assert [problem.kind for problem in parse([], known("0.5.12"))[1]] == ["required"]


def test_a_file_of_options_may_name_the_model() -> None:
    assert parse(["--config", "more.yaml"], known("0.5.12"))[1] == ()


def test_not_a_number_is_no_number() -> None:
    assert kinds("--mem-fraction-static", "nan") == ["value_refused"]


def test_without_a_catalogue_the_newest_one_tells_the_values_and_nothing_is_objected_to() -> None:
    parsed, problems = parse(["--tp-size", "2", "--of-the-future", "3"], None)
    assert (parsed.get("tp_size"), problems) == (2, ())
