"""A case as it is written becomes a question, and what is wrong in it is told."""

import math
from pathlib import Path
from typing import Any

import pytest

from stoker.serving.checking import case
from stoker.serving.checking.asking import Facts
from stoker.serving.checking.question import OtherServer, Question
from stoker.serving.checking.reading import Reading
from stoker.serving.document import read_texts
from tests.serving.checking.shared import rows

PATHS = [row.path for row in rows()]


def asked(text: str) -> tuple[Question, Reading]:
    data, duplicates = read_texts(text)
    reading = Reading(duplicates)
    return case.asked("it", data, reading), reading


def facts(text: str) -> tuple[Facts, Reading]:
    data, duplicates = read_texts(text)
    reading = Reading(duplicates)
    return case.facts(data, reading), reading


def question(text: str) -> Question:
    found, reading = asked(text)
    assert reading.problems == []
    return found


def test_words_and_values_stay_as_they_are_written() -> None:
    found = question("sglang: 0.5.12\nflags: [--mem-fraction-static, 0.80]\nenv: {A: True, B: 1}")
    assert found.words == ("--mem-fraction-static", "0.80")
    assert found.env == {"A": "True", "B": "1"}
    assert found.sglang == "0.5.12"


def test_what_nobody_says_is_none() -> None:
    found = question("sglang: 0.5.12\nflags: []\nhost: {ct_limit_gb: null}\nmodel: null")
    assert (found.host.ct_limit_gb, found.model, found.draft, found.files) == (None,) * 4
    assert (found.gpus.count, found.visible, found.others) == (None, None, ())


def test_the_gpus_that_the_environment_shows_are_counted() -> None:
    text = "sglang: 0.5.12\nflags: []\nenv: {CUDA_VISIBLE_DEVICES: '2,3'}"
    assert question(text).visible == 2


def test_other_servers_have_one_port_or_several() -> None:
    text = """\
    sglang: 0.5.12
    flags: []
    other_servers:
      - {name: b, port: 30000}
      - {port: 30001, nccl_port: 29001, ports: [5000], gpus: [1], host_gb: 40}
    """
    assert question(text).others == (
        OtherServer("b", (30000,)),
        OtherServer("other_servers.2", (30001, 29001, 5000), (1,), 40.0),
    )


def test_no_limit_may_be_said_and_a_zero_of_a_model_means_that_there_is_none() -> None:
    found, reading = facts(
        "host: {memlock_gb: .inf}\n"
        "model: {heads: 0, kv_lora_rank: 0, full_attention_layers: 0, layers: 2, mla: false}"
    )
    assert found.host.memlock_gb == math.inf
    model = found.model
    assert model and (model.heads, model.kv_lora_rank, model.full_attention_layers) == (
        None,
    ) * 2 + (0,)
    assert model.mla is False and reading.problems == []


def test_a_draft_has_a_model_files_and_names_of_tensors() -> None:
    found, reading = facts(
        "draft: {model: {hidden: 64}, keys: [layers.0.x], files: {tokenizer: no}}\n"
        "model: {linear: {layers: 36, conv_elements: 4, state_elements: 8}}"
    )
    assert found.draft and found.draft.keys == ("layers.0.x",)
    assert found.draft.model and found.draft.model.hidden == 64
    assert found.draft.files.tokenizer is False
    assert found.model and found.model.linear and found.model.linear.state_dtype_bytes == 4
    assert reading.problems == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("flags: []", "sglang: is missing; write the version, such as 0.5.12"),
        ("sglang: [1]\nflags: []", "sglang: is missing"),
        ("sglang: 0.5.12", "flags: is no list of words"),
        ("sglang: 0.5.12\nflags: --tp 8", "flags: is no list of words"),
        ("sglang: 0.5.12\nflags: [--tp, [8]]", "flags: its word 2 is no text; quote it"),
        ("sglang: 0.5.12\nflags: [a, ]\nenv: [A]", "env: is no mapping of keys"),
        ("sglang: 0.5.12\nflags: []\nenv: {A: {}}", "env.A: is no text; quote it"),
        ("sglang: 0.5.12\nflags: []\nflags: []", "flags: is there twice, lines 2 and 3"),
    ],
)
def test_what_is_no_case_is_told(text: str, problem: str) -> None:
    _, reading = asked(text)
    assert any(one.startswith(problem) for one in reading.problems)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gpu: 3", "gpu: is no mapping of keys"),
        ("gpu: {count: many}", "gpu.count: 'many' is no whole number from 0 up"),
        ("gpu: {count: -1}", "gpu.count: '-1' is no whole number from 0 up"),
        ("gpu: {count: 1.5}", "gpu.count: '1.5' is no whole number from 0 up"),
        ("gpu: {free_gib: [1]}", "gpu.free_gib: ['1'] is no number"),
        ("host: {ram_gb: nan}", "host.ram_gb: 'nan' is no number from 0 up"),
        ("host: {ram_gb: -2}", "host.ram_gb: '-2' is no number from 0 up"),
        ("model: {mla: perhaps}", "model.mla: 'perhaps' is neither true nor false"),
        ("model: {arch: [A]}", "model.arch: is no text"),
        ("model: {linear: {layers: 2}}", "model.linear: needs layers, conv_elements"),
        ("files: {present: x}", "files.present: is no list"),
        ("other_servers: b", "other_servers: is no list of servers"),
        ("other_servers: [b]", "other_servers.1: is no mapping of keys"),
        ("other_servers: [{port: x}]", "other_servers.1.ports: 'x' is no whole number"),
        ("draft: 3", "draft: is no mapping of keys"),
    ],
)
def test_a_fact_of_the_wrong_kind_is_told_with_its_key(text: str, problem: str) -> None:
    _, reading = facts(text)
    assert any(one.startswith(problem) for one in reading.problems), reading.problems


def test_a_key_that_nobody_reads_is_no_error_and_is_noted() -> None:
    found, reading = asked("sglang: 0.5.12\nflags: []\ncolour: red\ngpu: {colour: red}\nid: 7")
    assert isinstance(found, Question)
    assert (reading.problems, sorted(reading.unknown)) == ([], ["colour", "gpu.colour", "id"])


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_every_shared_case_is_read_whole(path: Path) -> None:
    text = path.read_text()
    found, reading = asked(text)
    assert (reading.problems, reading.unknown) == ([], [])
    assert case.is_case(read_texts(text)[0])
    data: Any = read_texts(text)[0]
    assert found.model and found.model.weights_gib == float(data["model"]["weights_gib"])
    assert found.gpus.free_gib == 94.5 and found.host.mem_available_gb == 449
