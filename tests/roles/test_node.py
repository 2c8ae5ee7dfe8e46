"""What a node does before any container goes on, and what only where it is asked."""

from typing import Any

from pyinfra.api import Config, Inventory, State
from pyinfra.api.deploy import add_deploy
from pyinfra.context import ctx_inventory, ctx_state

from roles.node import node


def operations(name: str, **data: Any) -> list[str]:
    """Names of the operations that the role queues on that host, in order."""
    hosts = (["@fake/pve1", "@fake/a"], {"fake_delay": 0, "fake_delay_jitter": 0})
    inventory = Inventory(hosts, pve=(["@fake/pve1"], data), inference=(["@fake/a"], {}))
    state = State(inventory, Config())
    with ctx_inventory.use(inventory), ctx_state.use(state):
        add_deploy(state, node, host=inventory.get_host(name))
    return [next(iter(meta.names)) for meta in state.op_meta.values()]


def test_a_node_is_told_of_and_changed_only_where_that_is_asked() -> None:
    assert operations("@fake/pve1") == [
        "Node | Make the GPUs' device nodes at boot, before any guest starts",
        "Node | Tell what is not good for the GPUs",
        "Node | Wait for the node",
    ]
    everything = {
        "gpu_nodes": False,
        "modules": True,
        "kernel_command_line": ["iommu=pt"],
        "persistence": True,
        "power_limit_w": 450,
        "hold": True,
    }
    assert operations("@fake/pve1", node_settings=everything)[:5] == [
        "Node | Load NVIDIA's modules at boot, and never nouveau",
        "Node | Add to the kernel's command line",
        "Node | Keep the GPUs initialized",
        "Node | Limit the GPUs' power",
        "Node | Hold the driver's packages",
    ]


def test_a_container_waits_for_its_node() -> None:
    assert operations("@fake/a") == ["Node | Wait for the node"]
