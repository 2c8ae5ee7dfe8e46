"""When a diagnosis is told: once, after the last host, with the run's exit code."""

from typing import Any

import pytest
from pyinfra.api import Config, DeployError, Inventory, State
from pyinfra.context import ctx_host, ctx_inventory, ctx_state

from roles import diagnosis
from stoker.operations.findings import Finding

NODE, A, B = "@fake/pve1", "@fake/a", "@fake/b"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[list[Finding]]:
    told: list[list[Finding]] = []
    monkeypatch.setattr(diagnosis.showing, "show", lambda found: told.append(list(found)))
    return told


def run(
    monkeypatch: pytest.MonkeyPatch,
    states: dict[str, str],
    active: tuple[str, ...] = (NODE, A, B),
    limit: tuple[str, ...] = (),
    before: bool = False,
) -> int | None:
    """The exit code after all hosts were asked, each found in that state; None: it goes on."""
    inventory = Inventory(([NODE, A, B], {}), pve=([NODE], {}), inference=([A, B], {}))
    hosts = [inventory.get_host(name) for name in limit] or None
    state = State(inventory, Config(), initial_limit=hosts)

    def of(host: Any) -> list[Finding]:
        return [Finding(host.name, "u", states[host.name])]

    monkeypatch.setattr(diagnosis.findings, "of", of)
    for name in active:
        state.activate_host(inventory.get_host(name))
    if before:
        state.op_meta["another"] = {}  # type: ignore[assignment]
    with ctx_inventory.use(inventory), ctx_state.use(state):
        for name in active:
            with ctx_host.use(inventory.get_host(name)):
                try:
                    diagnosis.diagnosis()
                except SystemExit as end:
                    assert name == active[-1], "it ended before the last host was asked"
                    return int(end.code or 0)
    return None


def test_all_hosts_are_told_at_once_and_well_ends_in_0(
    monkeypatch: pytest.MonkeyPatch, shown: list[list[Finding]]
) -> None:
    assert run(monkeypatch, {A: "serving", B: "loading"}) == 0
    assert [[one.host for one in found] for found in shown] == [[A, B]]


def test_one_unit_that_is_down_ends_in_1(
    monkeypatch: pytest.MonkeyPatch, shown: list[list[Finding]]
) -> None:
    assert run(monkeypatch, {A: "serving", B: "failed"}) == 1


def test_hosts_that_were_not_reached_are_told_too(
    monkeypatch: pytest.MonkeyPatch, shown: list[list[Finding]]
) -> None:
    assert run(monkeypatch, {A: "serving"}, active=(NODE, A)) == 1
    assert [(one.host, one.state) for one in shown[0]] == [(A, "serving"), (B, "unreachable")]


def test_hosts_outside_the_limit_are_not_told(
    monkeypatch: pytest.MonkeyPatch, shown: list[list[Finding]]
) -> None:
    assert run(monkeypatch, {A: "serving"}, active=(A,), limit=(A,)) == 0
    assert [one.host for one in shown[0]] == [A]


def test_after_another_file_it_refuses_since_that_would_not_be_executed(
    monkeypatch: pytest.MonkeyPatch, shown: list[list[Finding]]
) -> None:
    with pytest.raises(DeployError, match=r"run diagnose\.py by itself"):
        run(monkeypatch, {A: "serving", B: "serving"}, before=True)


def test_a_run_that_finds_nothing_is_not_well(
    monkeypatch: pytest.MonkeyPatch, shown: list[list[Finding]]
) -> None:
    assert run(monkeypatch, {}, active=(NODE,), limit=(NODE,)) == 1
    assert shown == [[]]
