"""A Proxmox node as its GPUs' containers need it; what is not asked for is only told."""

from pyinfra import host
from pyinfra.api import deploy

from stoker.container import asked
from stoker.container.asked import NodeSettings
from stoker.operations import barrier, gpu_nodes
from stoker.operations import node_settings as operations


@deploy("Node")
def node() -> None:
    """Called for every host, from the node's data `node_settings`: what a node does here is done
    before any container goes on."""
    if "pve" in host.groups:
        _settings(asked.node_settings(host.data.get("node_settings")))
        operations.reported(name="Tell what is not good for the GPUs")
    barrier.reached(name="Wait for the node")


def _settings(wanted: NodeSettings) -> None:
    if wanted.gpu_nodes:
        gpu_nodes.present(name="Make the GPUs' device nodes at boot, before any guest starts")
    if wanted.modules:
        operations.modules(name="Load NVIDIA's modules at boot, and never nouveau")
    if wanted.kernel_command_line:
        operations.command_line(
            name="Add to the kernel's command line", words=wanted.kernel_command_line
        )
    if wanted.persistence:
        operations.persistence(name="Keep the GPUs initialized")
    if wanted.power_limit_w is not None:
        operations.power(name="Limit the GPUs' power", limits=wanted.power_limit_w)
    if wanted.hold:
        operations.held(name="Hold the driver's packages")
