"""Which containers a node recovers, and what a limit or a misspelt key says."""

from typing import Any

import pytest
from pyinfra.api import Config, DeployError, Inventory, State
from pyinfra.api.deploy import add_deploy
from pyinfra.context import ctx_inventory, ctx_state

from roles import recovery
from stoker.serving.hostdata import Recovery

NODE, A, B, ELSEWHERE = "@fake/pve1", "@fake/a", "@fake/b", "@fake/c"


def asked(
    on: str,
    monkeypatch: pytest.MonkeyPatch,
    limit: tuple[str, ...] = (),
    **data: Any,
) -> dict[int, Recovery] | None:
    """What `cleared` is asked on this host; None: it is not called. `data` is container a's."""
    inventory = Inventory(
        ([NODE, "@fake/pve2", A, B, ELSEWHERE], {"fake_delay": 0, "fake_delay_jitter": 0}),
        pve=([NODE, "@fake/pve2"], {}),
        inference=(
            [
                (A, {"pct_host": NODE, "pct_vmid": 200, **data}),
                (B, {"pct_host": NODE, "pct_vmid": 201}),
                (ELSEWHERE, {"pct_host": "@fake/pve2", "pct_vmid": 300}),
            ],
            {},
        ),
    )
    hosts = [inventory.get_host(name) for name in limit] or None
    state = State(inventory, Config(), initial_limit=hosts)
    called: dict[str, Any] = {}
    monkeypatch.setattr(recovery.operations, "cleared", lambda **words: called.update(words))
    monkeypatch.setattr(recovery.operations, "installed", lambda **_: None)
    with ctx_inventory.use(inventory), ctx_state.use(state):
        add_deploy(state, recovery.recovery, host=inventory.get_host(on))
    return called.get("containers")


def test_a_node_recovers_its_own_containers_as_their_data_allow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = asked(NODE, monkeypatch, recovery={"allow_restart": True})
    assert wanted == {200: Recovery(allow_restart=True), 201: Recovery()}


def test_a_container_itself_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(A, monkeypatch) is None


def test_only_containers_within_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(NODE, monkeypatch, limit=(NODE, B)) == {201: Recovery()}


def test_a_container_alone_in_the_limit_is_told_that_its_node_must_be_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(DeployError, match=r"on its node, which is not in the limit; .*--limit"):
        asked(A, monkeypatch, limit=(A,))


def test_a_node_alone_in_the_limit_is_told_to_name_its_containers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(DeployError, match="none of its containers is in the limit; name them too"):
        asked(NODE, monkeypatch, limit=(NODE,))


def test_a_misspelt_permission_is_refused_with_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeployError, match=r"@fake/a: recovery.allow_restrat: Extra inputs"):
        asked(NODE, monkeypatch, recovery={"allow_restrat": True})
    with pytest.raises(DeployError, match=r"@fake/a: recovery.stop_running: Input should be"):
        asked(NODE, monkeypatch, recovery={"stop_running": "yes"})
