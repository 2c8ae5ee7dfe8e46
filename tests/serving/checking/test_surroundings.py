"""What one machine makes of units: a question each, with the others beside it."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Gpus, Host
from stoker.serving.checking.surroundings import Surroundings, paths_of
from stoker.serving.evidence.machine import Gpu, Machine
from stoker.serving.unit import Unit
from stoker.serving.weights.directory import Directory
from stoker.serving.weights.files import Draft, Files
from tests.serving.flagsets import VENV, units

GB = 10**9
RTX = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
GPUS = tuple(Gpu(index, RTX, 97887 - index, 120) for index in range(4))
MACHINE = Machine("0.5.12", "2.11.0+cu130", "13.0", "580.95.05", GPUS)


def lies(path: str, exists: bool = True, size: int = 0, **model: Any) -> tuple[str, Directory]:
    files = Files(path=path, exists=exists, size_bytes=size)
    return path, Directory(files, Model(**model) if exists else None, Draft(files))


def around(*lying: tuple[str, Directory], **changed: Any) -> Surroundings:
    machines: Mapping[PurePosixPath, Machine] = {VENV: MACHINE}
    return Surroundings(machines=machines, directories=dict(lying), **changed)


def eight(**changed: Any) -> tuple[Unit, ...]:
    return units(placement={"layout": "one-per-gpu", "gpus": (0, 1, 2)}, **changed)


def test_a_unit_is_asked_of_with_its_gpus_its_model_and_the_versions_beside_it() -> None:
    found = around(lies("/models/tiny", layers=2), host=Host(mem_available_gb=449))
    question = found.questions(eight(), ())[1]
    assert question.gpus == Gpus(RTX, 120, count=4, memory_mib=97886)
    assert (question.visible, question.host.mem_available_gb) == (1, 449)
    assert question.model and question.model.layers == 2
    assert question.files and question.files.path == "/models/tiny"
    assert question.software == {"cuda": "13.0", "torch": "2.11.0+cu130", "driver": "580.95.05"}
    assert question.words[:2] == ("--model-path", "/models/tiny")


def test_the_others_are_named_with_their_ports_gpus_and_what_they_really_use() -> None:
    found = around(used_gb={"sglang@0.service": 40.0, "sglang@2.service": 50.0})
    first, second, third = found.questions(eight(), ["sglang@0.service", "sglang@1.service"])
    assert [one.name for one in first.others] == ["sglang@1.service", "sglang@2.service"]
    assert [one.gpus for one in second.others] == [(0,), (2,)]
    assert all({30000 + n, 29000 + n} <= {*third.others[n].ports} for n in (0, 1))
    # What is to be changed uses what it will use, not what it uses.
    assert second.others[0].host_gb != 40.0
    assert second.others[1].host_gb == 50.0


def test_a_machine_that_nobody_could_look_at_leaves_everything_unknown() -> None:
    (question,) = Surroundings().questions(units(), ())
    assert (question.gpus, question.host, question.visible) == (Gpus(), Host(), None)
    assert (question.model, question.files, question.draft, question.software) == (None,) * 3 + (
        {},
    )


def test_a_draft_that_is_a_path_is_looked_at_and_one_that_is_a_name_is_not() -> None:
    drafted = units(flags={"speculative-draft-model-path": "/drafts/4"})
    assert paths_of(drafted) == ("/models/tiny", "/drafts/4")
    (question,) = around(lies("/drafts/4")).questions(drafted, ())
    assert question.draft and question.draft.files.path == "/drafts/4"
    assert paths_of(units(flags={"speculative-draft-model-path": "org/name"})) == ("/models/tiny",)


STAGED = {"model": {"path": "/dev/shm/tiny", "staged_from": "/models/tiny"}}


def test_a_copy_that_is_yet_to_be_made_takes_memory_and_has_to_fit() -> None:
    source, absent = lies("/models/tiny", size=54 * GB), lies("/dev/shm/tiny", exists=False)
    (unit,) = units(**STAGED)
    assert paths_of([unit]) == ("/models/tiny", "/dev/shm/tiny")
    found = around(source, absent, host=Host(mem_available_gb=449, shm_gb=64, shm_free_gb=50))
    (question,) = found.questions([unit], [unit.name])
    assert question.files and question.files.path == "/models/tiny"
    assert (question.host.mem_available_gb, question.others) == (395, ())
    (short,) = found.room(unit)
    assert short.name == "shm_short" and "needs 54.0 GB of /dev/shm" in short.message
    assert "50.0 of 64.0 GB are free" in short.message


def test_a_copy_that_lies_there_already_and_one_that_fits_are_no_matter() -> None:
    source = lies("/models/tiny", size=54 * GB)
    (unit,) = units(**STAGED)
    there = around(source, lies("/dev/shm/tiny"), host=Host(mem_available_gb=9, shm_free_gb=1))
    assert not [*there.room(unit)]
    assert there.questions([unit], ())[0].host.mem_available_gb == 9
    assert not [*around(source, host=Host(shm_free_gb=60)).room(unit)]
    assert not [*around(source).room(unit)]


def test_eight_units_share_one_copy_of_their_model() -> None:
    there = around(lies("/models/tiny", size=54 * GB, weights_gib=50), lies("/dev/shm/tiny"))
    for question in there.questions(eight(**STAGED), ()):
        assert all(one.host_gb is not None and one.host_gb < 10 for one in question.others)
