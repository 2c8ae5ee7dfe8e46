"""What a diagnosis finds of each unit, from facts, and how it is shown."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stoker.diagnosis.reports import Report
from stoker.facts.deaths import UnitDeath, UnitDeaths
from stoker.facts.servers import AskedServers, Server
from stoker.facts.start_log import StartLog
from stoker.facts.startup import Answer, Tokens
from stoker.health.crash.death import Death, HostSide
from stoker.health.crash.diagnosing import diagnose
from stoker.health.crash.verdict import HEALTHY, Verdict
from stoker.operations import findings, showing
from stoker.operations.findings import Finding
from stoker.pct.errors import Frozen, PctError, Stopped, Unreachable
from tests.facts.test_host_side import SIDE
from tests.operations.hosts import FakeHost

LOGS = Path(__file__).parents[1] / "health/crash/recorded/0.5.12"
UNIT = "sglang@0.service"
BEGAN = datetime(2026, 11, 29, 10, 0, 0, tzinfo=UTC)
FINE = Verdict(HEALTHY, "serving", None, "", "it is healthy", "do nothing", "high")
LOADS = replace(FINE, phase="load")
OOM = Verdict("gpu_oom", "prefill", 41, "CUDA out of memory", "it is full", "less", "high")
SILENT = Verdict("silent_death", "decode", None, "", "no cause in the log", "look", "low")
DEATH = Death(UNIT, "signal", "killed", "KILL", BEGAN.timestamp(), BEGAN.timestamp() + 90)
RUNS = Server(
    unit=UNIT,
    load="loaded",
    active="active",
    sub="running",
    main_pid=7,
    since=BEGAN,
    restarts=0,
    result="success",
    invocation="i",
    enabled=True,
    needs_reload=False,
    running_digest="d",
    disk_digest="d",
    words=("/venv/bin/python", "-m", "sglang.launch_server"),
    flagset="tiny",
    sglang="0.5.12",
    url="http://127.0.0.1:30000",
    local_url="http://127.0.0.1:30000",
    model="tiny",
)
FAILED = replace(RUNS, active="failed", sub="failed", main_pid=None, result="signal", words=())
SAID = {UNIT: Answer(1, "word", None)}
MUTE = {UNIT: Answer(0, "", "connection refused")}


class Node:
    """An agent that lets in, or not."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def run(self, command: str, vmid: int) -> None:
        if self.error:
            raise self.error


def told(verdict: Verdict, death: Death | None = None, *reports: Report) -> UnitDeath:
    return UnitDeath(UNIT, death, verdict, reports, ("a last line",))


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Since when the node was asked; it saw nothing."""
    times: list[float] = []

    def answer(host: Any, since: float) -> HostSide:
        times.append(since)
        return replace(SIDE, kernel=(), pids={}, unseen=())

    monkeypatch.setattr(findings, "host_side", answer)
    return times


def found(
    server: Server | None,
    death: UnitDeath | None = None,
    answers: dict[str, Answer] | None = None,
    error: Exception | None = None,
    lines: list[str] | None = None,
    **data: Any,
) -> list[Finding]:
    facts: dict[Any, Any] = {
        AskedServers: {UNIT: server} if server else {},
        UnitDeaths: {UNIT: death} if death else {},
        Tokens: answers or {},
        StartLog: lambda **_: lines or [],
    }
    host = FakeHost(facts)
    host.name = "gpu-a"  # type: ignore[attr-defined]
    host.data = SimpleNamespace(get=data.get)  # type: ignore[attr-defined]
    host.connector = SimpleNamespace(vmid=200, node=Node(error))  # type: ignore[attr-defined]
    return findings.of(host)


def one(*given: Any, **more: Any) -> Finding:
    (finding,) = found(*given, **more)
    return finding


def test_a_server_that_gives_a_token_is_well_and_the_node_is_not_asked(asked: list[float]) -> None:
    finding = one(RUNS, told(FINE), SAID)
    assert (finding.state, finding.wrong, finding.lines) == ("serving", False, ())
    assert asked == []


def test_a_container_whose_units_could_not_be_asked_is_told_and_wrong() -> None:
    host: Any = FakeHost({})  # a fact that fails has its default
    host.name, host.connector = "gpu-a", SimpleNamespace(vmid=200, node=Node())
    host.data = SimpleNamespace(get={}.get)
    (finding,) = findings.of(host)
    assert (finding.unit, finding.state, finding.wrong) == ("", "unreachable", True)
    assert finding.lines[0].startswith("gpu-a: it could not be asked")


def test_one_that_runs_and_could_not_be_asked_for_a_token_is_told_and_wrong() -> None:
    for told_of in (told(FINE), None):
        finding = one(RUNS, told_of, {})
        assert (finding.state, finding.wrong) == ("unreachable", True)
        assert "it could not be asked for a token" in finding.lines[0]


def test_one_that_serves_and_is_not_what_is_on_disk_has_the_word_of_stoker_status() -> None:
    finding = one(replace(RUNS, disk_digest="e"), told(FINE), SAID)
    assert (finding.state, finding.wrong) == ("outdated", False)


def test_one_that_still_loads_is_not_wrong() -> None:
    assert one(RUNS, told(LOADS), MUTE).state == "loading"
    assert one(replace(RUNS, active="activating"), told(LOADS)).state == "loading"
    assert one(RUNS, None, MUTE).state == "loading"


@pytest.mark.parametrize("lines", [0, 1, 20, 40, 60])
def test_one_whose_log_is_not_at_its_end_still_loads(lines: int) -> None:
    log = (LOGS / "healthy_stop.log").read_bytes().splitlines(keepends=True)[:lines]
    finding = one(RUNS, told(diagnose(log)), MUTE)
    assert (finding.state, finding.wrong) == ("loading", False)


def test_one_that_failed_by_its_log_and_hangs_is_wrong() -> None:
    log = (LOGS / "port_taken.log").read_bytes()
    assert one(RUNS, told(diagnose([log])), MUTE).state == "silent"


def test_one_that_is_up_by_its_log_and_gives_no_token_is_wrong() -> None:
    finding = one(RUNS, told(FINE), MUTE)
    assert (finding.state, finding.wrong) == ("silent", True)
    assert "but it does not answer" in finding.lines[0]
    assert finding.lines[1] == "  last line: a last line"
    assert finding.lines[-1] == "  it runs, and gave no token: connection refused"


def test_a_failed_one_has_its_paragraph_and_its_death(asked: list[float]) -> None:
    finding = one(FAILED, told(OOM, DEATH))
    assert (finding.state, finding.since) == ("failed", DEATH.ended)
    assert finding.lines[0] == f"gpu-a {UNIT}: it is full"
    assert any("stoker explain gpu_oom" in line for line in finding.lines)
    assert asked == [BEGAN.timestamp() - findings.BEFORE_S]


def test_without_a_known_start_the_node_is_asked_of_the_hour_before_the_end(
    asked: list[float],
) -> None:
    one(replace(FAILED, since=None), told(OOM, replace(DEATH, started=None)))
    assert asked == [BEGAN.timestamp() + 90 - 3600]


def test_the_log_is_joined_with_its_end_and_the_nodes_half(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    halves: list[object] = []

    def joined(verdict: Verdict, death: Death | None, host: HostSide | None) -> Verdict:
        halves.extend([death, host and host.node])
        return replace(verdict, name="gpu_lost", cause="the GPU fell off the bus")

    monkeypatch.setattr(findings, "joined", joined)
    finding = one(FAILED, told(SILENT, DEATH))
    assert halves == [DEATH, "pve1"]
    assert finding.verdict and finding.verdict.name == "gpu_lost"
    assert finding.lines[0] == f"gpu-a {UNIT}: the GPU fell off the bus"


def test_one_that_is_restarted_says_that_it_is_the_first_failure_of_the_loop() -> None:
    finding = one(replace(FAILED, active="activating", sub="auto-restart"), told(OOM, DEATH))
    assert (finding.state, finding.wrong) == ("restarting", True)
    assert "first failure of the loop" in finding.lines[-1]


def test_one_that_loads_again_in_a_restart_loop_is_told_by_the_loops_first_failure() -> None:
    deaths = [replace(DEATH, restarts=count) for count in range(2)]
    reports = [Report(DEATH.ended or 0, "i", death, OOM) for death in deaths]
    finding = one(replace(RUNS, restarts=2), told(LOADS, None, *reports), MUTE)
    assert (finding.state, finding.wrong) == ("restarting", True)
    assert finding.verdict and finding.verdict.name == "gpu_oom"
    assert one(replace(RUNS, restarts=2), told(FINE, None, *reports), SAID).state == "serving"
    assert one(RUNS, told(LOADS, None, *reports), MUTE).state == "loading"


def test_one_that_was_given_up_says_after_how_many_starts() -> None:
    deaths = [replace(DEATH, restarts=count) for count in range(3)]
    reports = [Report(DEATH.ended or 0, "i", death, OOM) for death in deaths]
    finding = one(FAILED, told(OOM, DEATH, *reports))
    assert finding.lines[-1].strip().startswith("systemd gave up after 3 starts")


def test_one_that_somebody_stopped_did_not_die() -> None:
    stopped = replace(FAILED, active="inactive", sub="dead", result="success")
    finding = one(stopped, told(FINE))
    assert (finding.state, finding.wrong) == ("stopped", True)
    assert "it is stopped, and did not die" in finding.lines[0]


def test_a_container_that_cannot_judge_is_judged_here_by_its_journal(
    asked: list[float],
) -> None:
    lines = ["sglang serve: error: unrecognized arguments: --tensor-paralel 8"]
    finding = one(FAILED, lines=lines)
    assert finding.verdict and finding.verdict.name == "flag_unknown"
    assert finding.lines[-1].strip().startswith("judged by its last start alone")
    assert asked == [BEGAN.timestamp() - findings.BEFORE_S]


def test_of_a_journal_that_was_cut_no_line_has_a_number_and_no_secret_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = [
        "HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyzabcdefgh",
        "sglang serve: error: unrecognized arguments: --tensor-paralel 8",
    ]
    whole = one(FAILED, lines=lines)
    assert whole.verdict and whole.verdict.line == 2
    monkeypatch.setattr(findings, "MOST_BYTES", sum(len(line) + 1 for line in lines))
    cut = one(FAILED, lines=lines)
    assert cut.verdict and (cut.verdict.name, cut.verdict.line) == ("flag_unknown", None)
    host: Any = SimpleNamespace(get_fact=lambda *_, **__: lines)
    assert "hf_abc" not in "".join(findings._judged_here(host, FAILED, None).last_lines)


def test_a_unit_that_runs_again_has_its_deaths_in_one_line() -> None:
    report = Report(DEATH.ended or 0, "i", DEATH, OOM)
    finding = one(RUNS, told(FINE, None, report, report), SAID)
    assert not finding.wrong
    assert finding.remark == (
        "2 death(s) reported before, the last 2026-11-29 10:01:30: it is full (gpu_oom)"
    )


def test_a_flag_set_without_a_unit_is_missing() -> None:
    (finding,) = found(None, flagsets=["tiny"])
    assert (finding.state, finding.wrong) == ("missing", True)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (Stopped("cannot enter CT 200 of pve1: it is stopped; start it"), "stopped"),
        (Frozen("cannot enter CT 200 of pve1: it is frozen"), "frozen"),
        (Unreachable("cannot reach pve1: no route"), "unreachable"),
        (PctError("odd"), "unreachable"),
    ],
)
def test_what_cannot_be_entered_is_said_and_ends_nothing(error: PctError, state: str) -> None:
    finding = one(RUNS, error=error)
    assert (finding.unit, finding.state, finding.wrong) == ("", state, True)
    assert "cannot enter" not in finding.lines[0]


def test_it_shows_one_table_the_paragraphs_and_the_remarks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = Report(DEATH.ended or 0, "i", DEATH, OOM)
    down = one(FAILED, told(OOM, DEATH))
    showing.show([down, one(RUNS, told(FINE, None, report), SAID)])
    text = capsys.readouterr().out
    assert text.count("│ gpu-a") == 2 and text.count("it is full") == 2
    row = next(line for line in text.splitlines() if "failed" in line)
    for cell in (UNIT, "2026-11-29 10:01:30", "gpu_oom", "prefill", "high"):
        assert cell in row
    assert f"gpu-a {UNIT}: serving; 1 death(s) reported before" in text
    assert "Nothing is wrong" not in text


def test_of_one_that_loads_it_shows_how_far_it_came_and_no_class(
    capsys: pytest.CaptureFixture[str],
) -> None:
    showing.show([one(RUNS, told(replace(SILENT, phase="kv_pool")), MUTE)])
    text = capsys.readouterr().out
    assert "kv_pool" in text and "silent_death" not in text


def test_where_all_is_well_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    showing.show([one(RUNS, told(FINE), SAID)])
    assert capsys.readouterr().out.endswith("Nothing is wrong.\n")


def test_of_one_that_has_died_before_it_is_not_said_that_nothing_is_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = Report(DEATH.ended or 0, "i", DEATH, OOM)
    showing.show([one(RUNS, told(LOADS, None, report), MUTE)])
    assert capsys.readouterr().out.endswith("Nothing is down now.\n")


def test_what_a_log_says_is_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    showing.show([Finding("[red]h", "u", "failed", lines=("x: [bold]text[/nothing]",))])
    text = capsys.readouterr().out
    assert "[red]h" in text and "x: [bold]text[/nothing]" in text


def test_what_a_log_says_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    showing.show(
        [Finding("h", "u", "failed", lines=("x: \x1b]0;title\x07\x9b2J",), remark="\x1b[2J")]
    )
    assert not set("\x1b\x07\x9b") & set(capsys.readouterr().out)
