"""A container is made, adopted, changed and restarted; a run begins where the last one ended."""

from typing import Any

import pytest
from pyinfra.context import ctx_host

from stoker.container.wanted import Wanted
from stoker.operations import container, container_node
from stoker.operations.container_applying import apply
from stoker.operations.container_node import Way
from stoker.proxmox.access import Access
from tests.operations.hosts import words
from tests.operations.node_double import ContainerHost, NodeDouble

NEW = {
    "template": "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst",
    "storage": "local-zfs",
    "rootfs_gib": 64,
    "hostname": "gpu-a",
    "memory_mib": 8192,
    "features": {"nesting": True},
    "networks": [{"name": "eth0", "bridge": "vmbr0", "ip": "dhcp"}],
    "mounts": [{"source": "/tank/models", "target": "/models", "read_only": True}],
    "gpus": "all",
}


@pytest.fixture(autouse=True)
def _node(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(run: Any) -> Any:
        return run(["look"])

    monkeypatch.setattr(
        container_node.opening,
        "backend",
        lambda access, name, run: run.__self__.host.connector.node,
    )
    monkeypatch.setattr(Way, "look", lambda way: way.host.connector.node.look(None))
    NodeDouble.facts = {"node": "pve1"}  # type: ignore[attr-defined]


def asked(host: ContainerHost, executing: bool, **said: Any) -> list[str]:
    """What the operation would do."""
    with ctx_host.use(host):  # type: ignore[arg-type]
        return words(container.present._inner(Wanted.of(said), Access()))


def done(host: ContainerHost, **said: Any) -> bool:
    """Whether it succeeded in execution."""
    return apply(None, host, Way(host, Wanted.of(said), Access()))


def made(**said: Any) -> NodeDouble:
    """A node whose container 200 was made so, and runs."""
    node = NodeDouble()
    assert done(ContainerHost(node), **said)
    node.acts.clear()
    return node


def test_a_container_that_is_not_there_is_made_and_started() -> None:
    node = NodeDouble()
    host = ContainerHost(node)
    assert done(host, **NEW)
    assert node.acts == ["create 200", "start 200"]
    assert node.cts[200].keys["dev0"] == "/dev/nvidia0,mode=0666"
    assert "+ memory: 8192" in host.said
    assert host.held == 1


def test_a_second_run_looks_once_and_does_nothing() -> None:
    node = made(**NEW)
    node.looks = 0
    host = ContainerHost(node)
    assert asked(host, True, **NEW) == []
    assert (node.looks, node.acts, host.said) == (1, [], [])
    assert host.noops == ["CT 200 is as declared"]
