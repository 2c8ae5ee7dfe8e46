"""Units are asked about on the machine itself, and refused with every reason before a touch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyinfra.api import OperationError

from stoker.facts.catalogue import InstalledCatalogue
from stoker.facts.interpreter import Distribution, Interpreter
from stoker.facts.machine import Limits, MachineLimits
from stoker.facts.model_files import ModelDirectories
from stoker.facts.versions import Versions
from stoker.operations import preflight
from stoker.serving.checking import judging
from stoker.serving.checking.judging import Check
from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.deployment import Deployment
from stoker.serving.evidence import file
from stoker.serving.evidence.checked import Checked
from stoker.serving.evidence.machine import Gpu, Machine
from stoker.serving.weights.directory import Directory
from stoker.serving.weights.files import Draft, Files
from tests.operations.hosts import FakeHost
from tests.serving.evidence.records import record
from tests.serving.flagsets import flagset
from tests.serving.locks import release

MACHINE = Machine("0.5.12", "2.11.0+cu130", "13.0", "580.95.05", (Gpu(0, "RTX", 97887, 120),))
FILES = Files("/models/tiny", exists=True, revision="ab" * 32)
FACTS: dict[Any, Any] = {
    Interpreter: Distribution("debian", "12"),
    InstalledCatalogue: None,
    MachineLimits: Limits(available=449 * 10**9),
    Versions: MACHINE,
    ModelDirectories: {"/models/tiny": Directory(FILES, None, Draft(FILES))},
}
SHORT = Reason("host_ram_short", "refuse", "2400 of 449 GB", "take 48", ("8 x 300 = 2400 GB",))
OLD = Reason("flag_deprecated", "warn", "--a ends", "use --b")


@pytest.fixture(autouse=True)
def _site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[Reason]:
    """What the checks say of every question."""
    reasons: list[Reason] = []

    def run(question: Question) -> tuple[Iterator[Reason], tuple[str, ...]]:
        return iter(reasons), (f"{question.name} is asked about",)

    monkeypatch.setattr(judging, "_checks", lambda *_: [Check("all", run)])
    return reasons


def require(
    *changed: dict[str, Any], candidate: bool = True, facts: dict[Any, Any] | None = None
) -> tuple[dict[str, Checked], FakeHost]:
    sets = [(flagset(**one), release()) for one in changed or ({},)]
    wanted, host = Deployment(tuple(sets)), FakeHost(FACTS | (facts or {}))
    return preflight.require(host, wanted, wanted.units("3.11"), candidate), host


def refusal(*changed: dict[str, Any], candidate: bool = True) -> str:
    with pytest.raises(OperationError) as error:
        require(*changed, candidate=candidate)
    return str(error.value)


def test_a_candidate_goes_on_with_what_its_proof_needs(said: list[Reason]) -> None:
    found, host = require()
    one = found["tiny"]
    assert (one.flagset.name, one.state, one.record) == ("tiny", "reported", None)
    assert one.fingerprint.model == "ab" * 32 and one.fingerprint.draft == "none"
    assert (one.fingerprint.sglang, one.fingerprint.driver) == ("0.5.12", "580.95.05")
    assert host.done == []


def test_what_is_only_reported_needs_a_candidate(said: list[Reason]) -> None:
    assert refusal(candidate=False) == (
        "cannot bring up tiny: it is only reported (by us), and no run of ours has measured it "
        "here; try it as a candidate: --data candidate=yes\nnothing was touched"
    )
    assert "nobody has said of it that it works" in refusal({"status": None}, candidate=False)


def test_evidence_of_this_very_machine_is_enough_and_of_another_driver_is_stale(
    said: list[Reason], tmp_path: Path
) -> None:
    measured = require()[0]["tiny"].fingerprint
    path = file.path_of(preflight.FLAGSETS, "tiny")
    path.parent.mkdir(parents=True)
    path.write_text(file.text_of("tiny", [record(fingerprint=measured)]))
    found, _ = require(candidate=False)
    assert found["tiny"].state == "measured" and found["tiny"].record
    newer = Machine("0.5.12", "2.11.0+cu130", "13.0", "590.1", MACHINE.gpus)
    with pytest.raises(OperationError, match=r"stale \(driver 580.95.05 -> 590.1\)"):
        require(candidate=False, facts={Versions: newer})


def test_every_reason_of_every_unit_is_told_at_once_and_the_same_one_once(
    said: list[Reason],
) -> None:
    said += [SHORT, OLD]
    three = {"placement": {"layout": "one-per-gpu", "gpus": (0, 1, 2)}}
    other = {"name": "other", "port": 40000, "placement": {"layout": "cpu"}}
    assert refusal(three, other).splitlines() == [
        "cannot bring up tiny (sglang@0.service, sglang@1.service, sglang@2.service): "
        "it cannot work here",
        "  refuse host_ram_short: 2400 of 449 GB",
        "      8 x 300 = 2400 GB",
        "    do: take 48",
        "cannot bring up other (sglang.service): it cannot work here",
        "  refuse host_ram_short: 2400 of 449 GB",
        "      8 x 300 = 2400 GB",
        "    do: take 48",
        "nothing was touched",
    ]


def test_warnings_and_notes_are_told_and_hinder_nothing(said: list[Reason]) -> None:
    said.append(OLD)
    _, host = require()
    assert "tiny: warn flag_deprecated: --a ends" in host.said
    assert "tiny: tiny is asked about" in host.said


def test_a_check_that_fails_of_itself_lets_nothing_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Question) -> Any:
        raise KeyError("x")

    monkeypatch.setattr(judging, "_checks", lambda *_: [Check("memory", broken)])
    assert "cannot check the memory of tiny: KeyError" in refusal()


def put_evidence(fingerprint: Any) -> None:
    path = file.path_of(preflight.FLAGSETS, "tiny")
    path.parent.mkdir(parents=True)
    path.write_text(file.text_of("tiny", [record(fingerprint=fingerprint)]))


@pytest.mark.parametrize("facts", [{}, {Versions: None}], ids=["all known", "much unknown"])
def test_what_serves_and_was_measured_just_so_is_not_measured_again(facts: dict[Any, Any]) -> None:
    wanted = Deployment(((flagset(), release()),))
    host, units = FakeHost(FACTS | facts), wanted.units("3.11")
    (one,) = preflight.unmeasured(host, wanted, units).values()
    put_evidence(one.fingerprint)
    assert preflight.unmeasured(host, wanted, units) == {}
    moved = FakeHost(FACTS | {Versions: Machine("0.5.12", driver="590.1")})
    assert [*preflight.unmeasured(moved, wanted, units)] == ["tiny"]


def test_of_what_serves_unmeasured_a_line_tells_and_of_what_is_measured_none() -> None:
    wanted = Deployment(((flagset(), release()),))
    assert list(preflight.remarks(wanted)) == [
        "tiny serves, but it is only reported (by us), and no run of ours has measured it here; "
        "to measure it: --data candidate=yes"
    ]
    put_evidence(record().fingerprint)
    assert list(preflight.remarks(wanted)) == []


def test_a_flag_that_the_installed_sglang_does_not_know_is_refused_for_real() -> None:
    told = refusal({"flags": {"device": "cpu", "num-speculative-tokens": 16}})
    assert "refuse flag_unknown: " in told and "--speculative-num-draft-tokens" in told
