"""Who manages a container, by which access, and how wrong data are told."""

from pathlib import Path
from typing import Any

import pytest
from pyinfra.api import Config, DeployError, Inventory, State
from pyinfra.api.deploy import add_deploy
from pyinfra.context import ctx_inventory, ctx_state

from roles import container, flagsets
from stoker.container.wanted import Wanted
from stoker.proxmox.access import Access

ROOT = Path(__file__).parents[2]
TOKEN = {
    "backend": "token",
    "host": "pve1",
    "token": "stoker@pve!deploy",
    "secret_env": "SECRET",
}


def lab(
    data: dict[str, Any], node: dict[str, Any], second: dict[str, Any] | None = None
) -> tuple[Inventory, State]:
    """One node with one container, or two."""
    place = {"pct_host": "@fake/pve1", "flagsets": []}
    hosts = [("@fake/a", {**place, "pct_vmid": 200, **data})]
    hosts += [("@fake/b", {**place, "pct_vmid": 201, **second})] if second else []
    names = ["@fake/pve1", *(name for name, _ in hosts)]
    inventory = Inventory(
        (names, {"fake_delay": 0, "fake_delay_jitter": 0}),
        pve=([("@fake/pve1", node)], {}),
        inference=(hosts, {"container_defaults": {"memory_mib": 1024, "cores": 2}}),
    )
    return inventory, State(inventory, Config())


def asked(
    monkeypatch: pytest.MonkeyPatch, data: dict[str, Any], node: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What the operation is asked; empty: it is not called."""
    inventory, state = lab(data, node or {})
    called: dict[str, Any] = {}
    monkeypatch.setattr(container.operations, "present", lambda **words: called.update(words))
    with ctx_inventory.use(inventory), ctx_state.use(state):
        add_deploy(state, container.container, host=inventory.get_host("@fake/a"))
    called.pop("name", None)
    return called


def test_a_host_without_the_data_container_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, {}) == {}


def test_what_the_host_says_comes_before_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch, {"container": {"cores": 8}})
    assert found == {"wanted": Wanted(cores=8, memory_mib=1024), "access": Access()}


def test_the_access_is_the_nodes_unless_the_container_has_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = {"container": {}}
    assert asked(monkeypatch, said, {"proxmox": TOKEN})["access"] == Access.of(TOKEN)
    own = {**said, "proxmox": {"backend": "ssh"}}
    assert asked(monkeypatch, own, {"proxmox": TOKEN})["access"] == Access()


def test_every_problem_of_every_host_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    inventory, state = lab(
        {"container": {"memory_mib": "8 GB"}, "venvs_kept": -1},
        {"proxmox": {"backend": "token"}, "node_settings": {"modules": "yes"}},
        {"container": {"gpus": 0}},
    )
    monkeypatch.setattr(flagsets, "SITE", ROOT)
    with (
        ctx_inventory.use(inventory),
        ctx_state.use(state),
        pytest.raises(DeployError) as raised,
    ):
        add_deploy(state, flagsets.flagsets, host=inventory.get_host("@fake/a"))
    told = str(raised.value).splitlines()
    assert told[0] == "cannot use the inventory; correct this host data:"
    assert told.count(told[0]) == 1
    for start in (
        "@fake/a: venvs_kept",
        "@fake/a: container.memory_mib: '8 GB' is no whole number of MiB",
        "@fake/b: container.gpus",
        "@fake/pve1: node_settings.modules",
        "@fake/pve1: proxmox: host is missing",
    ):
        assert any(line.startswith(start) for line in told), told
