import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from stoker.cli.status import rows_of
from stoker.facts.deaths import DeathReports, Deaths, UnitDeath, UnitDeaths
from stoker.facts.server_state import state_of
from stoker.facts.servers import AskedServers
from stoker.facts.startup import Answer, Tokens
from stoker.health.crash.verdict import HEALTHY, Verdict
from stoker.pct.errors import Stopped
from tests.diagnosis.deaths import report
from tests.operations.hosts import FakeHost
from tests.operations.test_service import server
from tests.serving.flagsets import units

TOKEN = Answer(1, "fire", None)


class Host(FakeHost):
    name = "gpu-a"
    connector: Any = None

    def __init__(self, facts: dict[Any, Any], flagsets: list[str]) -> None:
        super().__init__(facts)
        self.data = SimpleNamespace(flagsets=flagsets, get=lambda key: flagsets)


class Stopping:
    """The connector of a container that is stopped."""

    vmid = 200

    def __init__(self) -> None:
        self.node = self

    def run(self, text: str, vmid: int) -> None:
        raise Stopped(f"cannot enter CT {vmid}: it is stopped; start it")


def test_a_stopped_container_is_told_as_such_and_not_as_without_servers() -> None:
    host = Host({}, ["tiny"])
    host.connector = Stopping()
    (row,) = rows_of(host)
    assert (row.state, row.problem) == (
        "stopped",
        "cannot enter CT 200: it is stopped; start it",
    )


@pytest.mark.parametrize(
    ("changed", "answer", "state"),
    [
        ({}, TOKEN, "serving"),
        ({"running_digest": "0" * 64}, TOKEN, "outdated"),
        ({}, Answer(0, "", "HTTP Error 503"), "loading"),
        ({}, None, "unreachable"),
        ({"active": "activating", "sub": "auto-restart"}, None, "restarting"),
        ({"active": "failed", "sub": "failed"}, None, "failed"),
        ({"active": "inactive", "sub": "dead"}, None, "stopped"),
    ],
)
def test_a_servers_state_is_one_word(changed: Any, answer: Any, state: str) -> None:
    assert state_of(server(units()[0], **changed), answer) == state


def test_a_row_tells_where_it_serves_and_what_it_said() -> None:
    unit = units()[0]
    facts = {AskedServers: {unit.name: server(unit)}, Tokens: {unit.name: TOKEN}}
    (row,) = rows_of(Host(facts, ["tiny"]), ask="hello")
    assert (row.host, row.unit, row.flagset) == ("gpu-a", "sglang.service", "tiny")
    assert (row.url, row.answer) == ("http://127.0.0.1:30000", "fire")


def test_flag_sets_without_a_unit_are_missing_and_a_node_has_no_rows() -> None:
    unit = units()[0]
    facts = {AskedServers: {unit.name: server(unit)}, Tokens: {unit.name: TOKEN}}
    rows = rows_of(Host(facts, ["tiny", "second"]))
    assert [(row.state, row.flagset) for row in rows] == [
        ("serving", "tiny"),
        ("missing", "second"),
    ]
    (row,) = rows_of(Host({AskedServers: {}}, ["tiny"]))
    assert (row.state, row.flagset) == ("missing", "tiny")
    assert rows_of(Host({AskedServers: {}}, [])) == []


def test_a_container_that_could_not_be_asked_is_not_without_servers() -> None:
    (row,) = rows_of(Host({}, []))
    assert (row.unit, row.state) == ("", "unreachable")
    assert row.problem == "it could not be asked; run again"


def test_one_that_is_up_by_its_log_and_mute_has_the_same_word_as_in_a_diagnosis() -> None:
    unit = units()[0]
    fine = Verdict(HEALTHY, "serving", None, "", "it is healthy", "do nothing", "high")
    facts = {
        AskedServers: {unit.name: server(unit)},
        Tokens: {unit.name: Answer(0, "", "timed out")},
        UnitDeaths: lambda units, **_: {n: UnitDeath(n, None, fine, (), ()) for n in units},
    }
    (row,) = rows_of(Host(facts, ["tiny"]))
    assert (row.state, row.problem) == ("silent", "timed out")


def test_one_that_loads_again_in_a_loop_is_restarting_and_says_of_what() -> None:
    unit = units()[0]
    deaths = Deaths((report(0, 1000.0), report(1, 1100.0)), "")
    facts = {
        AskedServers: {unit.name: server(unit, restarts=2)},
        Tokens: {unit.name: Answer(0, "", "connection refused")},
        DeathReports: {unit.name: deaths},
    }
    (row,) = rows_of(Host(facts, ["tiny"]))
    assert (row.state, row.problem) == ("restarting", "gpu_oom: a CUDA graph did not fit")


def test_a_server_that_is_down_is_shown_with_the_class_of_its_death() -> None:
    unit = units()[0]
    first, last = report(0, 1000.0), report(1, 1100.0)
    down = server(unit, active="failed", result="exit-code", invocation=last.invocation)
    facts = {AskedServers: {unit.name: down}, DeathReports: {unit.name: Deaths((first, last), "")}}
    (row,) = rows_of(Host(facts, ["tiny"]))
    assert (row.state, row.problem) == ("failed", "exit-code: gpu_oom: a CUDA graph did not fit")
    facts[AskedServers] = {unit.name: server(unit, active="inactive", invocation="another")}
    (row,) = rows_of(Host(facts, ["tiny"]))
    assert (row.state, row.problem) == ("stopped", "")


def test_a_missing_inventory_is_said_in_words() -> None:
    # In a process of its own: the command patches the standard library for gevent.
    program = "import sys; from stoker.cli import main; sys.exit(main(sys.argv[1:]))"
    result = subprocess.run(
        [sys.executable, "-c", program, "status", "nowhere.py"], capture_output=True, text=True
    )
    assert result.returncode == 2
    assert "cannot read the inventory: there is no file nowhere.py" in result.stderr
