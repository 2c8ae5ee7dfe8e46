"""A running server is proved: here a stand-in as a real process, measured by the real programs."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest
from pyinfra.api import OperationError, StringCommand

from stoker.facts.start_log import StartLog
from stoker.facts.startup import Answer, Look, Startup, Tokens
from stoker.operations import under_test
from stoker.operations.proving import prove
from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.evidence.checked import Checked
from stoker.serving.evidence.fingerprint import NONE
from stoker.serving.evidence.record import Figures, Ran, Record
from stoker.serving.memory import predict
from stoker.serving.unit import Unit
from tests.operations.hosts import FakeHost
from tests.serving.evidence.records import fingerprint, record
from tests.serving.flagsets import flagset, units
from tests.serving.memory.asked import asked
from tests.serving.test_inside import KEY, served

ON_CPU = fingerprint(gpu=NONE, driver=NONE)
BURST = "1 of 472, 5 of 472 and 10 of 64 tokens at once, each for 29 more"
PREDICTED = predict(asked())
assert PREDICTED
DRAFT = Parsed({"speculative_algorithm": "EAGLE3"})


class Here(FakeHost):
    """This machine as the container: commands are run, and the unit is that process."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        answer = {"sglang.service": Answer(1, "fire", None)}
        super().__init__(
            {
                Startup: lambda **_: self.look(),
                Tokens: lambda **_: answer,
                StartLog: lambda **_: log.read_text().splitlines(),
            }
        )
        self._process = process

    def look(self) -> Look:
        """What systemd would say."""
        lives = self._process.poll() is None
        return Look(
            active="active" if lives else "activating",
            sub="running" if lives else "auto-restart",
            queued=False,
            main_pid=self._process.pid if lives else None,
            restarts=0,
            result="success" if lives else "signal",
            status=0 if lives else 9,
            invocation="new",
            ticks=0,
            io_bytes=0,
            listens=lives,
            cursor="",
            lines=(),
        )

    def run_shell_command(self, command: StringCommand, **_: Any) -> tuple[bool, Any]:
        words = ["sh", "-c", command.get_raw_value()]
        self.done.append(command.get_raw_value())
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        told = SimpleNamespace(stdout_lines=done.stdout.splitlines(), stderr=done.stderr)
        return done.returncode == 0, told


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of this module alone: what tells of the progress would never sleep again.
    monkeypatch.setattr(under_test, "gevent", SimpleNamespace(sleep=lambda _: None))


def unit(port: int) -> Unit:
    (one,) = units(port=port, secrets={"*": {"API_KEY": KEY}})
    return replace(one, venv=PurePosixPath(sys.prefix))


def checked(last: Record | None = None, parsed: Parsed | None = None) -> Checked:
    state = "measured" if last else "reported"
    return Checked(flagset(), ON_CPU, state, last, parsed=parsed or Parsed())  # type: ignore[arg-type]


class Proving:
    """One proof, and what came of it."""

    def __init__(self, log: Path, **environment: str) -> None:
        self.log, self.environment = log, environment
        self.leases: list[float] = []

    def __call__(self, what: Checked, full: bool) -> Any:
        with served(self.log, STOKER_API_KEY=KEY, **self.environment) as (port, process):
            self.host = Here(process, self.log)
            return prove(self.host, unit(port), what, full, self.leases.append)

    def refused(self, what: Checked, full: bool = False) -> str:
        with pytest.raises(OperationError) as refused:
            self(what, full)
        told = str(refused.value)
        assert told.startswith("cannot prove tiny by sglang.service: ")
        assert "\n" not in told
        return told.removeprefix("cannot prove tiny by sglang.service: ")


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Proving]]:
    proving = Proving(tmp_path_factory.mktemp("evidence") / "log", STANDIN_ACCEPT="2.7")
    yield proving(replace(checked(parsed=DRAFT), prediction=PREDICTED), full=True), proving


def test_a_candidate_that_stands_the_burst_has_all_its_figures(
    evidence: tuple[Any, Proving],
) -> None:
    proof, proving = evidence
    assert proof.full
    assert proof.ran == Ran(
        BURST, "bench_serving, random-ids, 16 prompts of 128 tokens, each for 32 more, 8 at once"
    )
    figures = proof.figures
    assert figures.tokens_per_s > 0
    assert figures.throughput > 0
    assert (figures.ttft_ms, figures.tpot_ms, figures.accept_length) == (54.0, 5.4, 2.7)
    assert (figures.max_total_num_tokens, figures.predicted_tokens) == (
        2048,
        PREDICTED.pool.tokens,
    )
    # The question for its limits, two bursts, bench_serving.
    assert len(proving.leases) == len(proving.host.done) == 4
    assert min(proving.leases) > 200


def test_the_log_of_its_start_is_quoted_and_no_secret_is_in_it_or_in_a_command(
    evidence: tuple[Any, Proving],
) -> None:
    proof, proving = evidence
    memory, ready = proof.log
    assert "max_total_num_tokens=2048, chunked_prefill_size=256" in memory
    assert ready.endswith("The server is fired up and ready to roll!")
    for text in (*proof.log, *proving.host.done, *proving.host.said):
        assert KEY not in text
        assert "-sk " not in text


def test_a_measured_server_is_only_sent_the_burst_and_confirmed(tmp_path: Path) -> None:
    last = record(100.0, fingerprint=ON_CPU, ran=Ran(BURST, "so and so"))
    proving = Proving(tmp_path / "log")
    proof = proving(checked(last), full=False)
    assert not proof.full
    assert len(proving.host.done) == 2


def test_a_server_that_dies_in_the_burst_is_told_so(tmp_path: Path) -> None:
    """INC3: up and healthy, and dead in the first large prefill."""
    told = Proving(tmp_path / "log", STANDIN_MODE="burst").refused(checked(), full=True)
    assert told == (
        "its process ended during the prefill burst (signal, status 9, 0 restart(s) since); "
        "correct what its log names"
    )


def test_a_server_that_fell_far_below_its_evidence_fails_after_a_second_try(
    tmp_path: Path,
) -> None:
    """INC8: it runs, and is ruinous."""
    last = record(100_000.0, fingerprint=ON_CPU, ran=Ran(BURST, "so and so"))
    proving = Proving(tmp_path / "log", STANDIN_TOKENS_PER_S="12000")
    told = proving.refused(checked(last))
    assert "tokens/s in the burst, " in told
    assert told.endswith("% of the 100000 of 2026-11-29")
    assert len(proving.host.done) == 3


def test_a_draft_that_never_guesses_right_fails_before_it_is_measured(tmp_path: Path) -> None:
    proving = Proving(tmp_path / "log", STANDIN_ACCEPT="1.0")
    told = proving.refused(checked(parsed=DRAFT), full=True)
    assert told.startswith("its accept length is 1.00")
    assert len(proving.host.done) == 3


def test_a_server_that_does_not_run_is_not_measured(tmp_path: Path) -> None:
    facts = {Startup: [None]}
    with pytest.raises(OperationError, match=r"it is unknown to systemd.*; bring it up first"):
        prove(FakeHost(facts), unit(30000), checked(), False, lambda _: None)


def test_last_evidence_of_another_burst_is_said_to_compare_with_nothing(tmp_path: Path) -> None:
    last = record(10**9, fingerprint=ON_CPU, figures=Figures(tokens_per_s=1e9))
    proving = Proving(tmp_path / "log")
    proving(checked(last), full=False)
    assert [line for line in proving.host.said if "is of another burst" in line]
