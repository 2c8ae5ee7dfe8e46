"""Containers whose GPUs are stuck, recovered from their node."""

from pyinfra import host, inventory
from pyinfra.api import DeployError, deploy

from stoker.operations import containers
from stoker.operations import recovery as operations
from stoker.refused import Refused
from stoker.serving import hostdata


@deploy("Recovery")
def recovery() -> None:
    """On a node, for its containers in the inventory and the limit; from their data `recovery`."""
    if "pve" not in host.groups:
        _require_node()
        return
    mine = containers.of(host)
    wanted = containers.within_limit(mine)
    if mine and not wanted:
        raise DeployError(
            f"cannot recover on {host.name}: none of its containers is in the limit; "
            f"name them too: --limit {host.name} --limit {mine[0].name}"
        )
    try:
        allowed = hostdata.recovery({ct.name: ct.data.get("recovery") for ct in wanted})
    except Refused as error:
        raise DeployError(str(error)) from error
    operations.installed(name="Place stoker.pyz")
    operations.cleared(
        name="Clear the GPUs of the containers",
        containers={ct.data.pct_vmid: allowed[ct.name] for ct in wanted},
    )


def _require_node() -> None:
    """A container alone in the limit would be recovered by nobody, and nobody would say so."""
    nodes = [node for node in inventory.get_group("pve", default=[]) if host in containers.of(node)]
    if nodes and not containers.within_limit(nodes):
        raise DeployError(
            f"cannot recover {host.name}: it is done on its node, which is not in the limit; "
            f"name it too: --limit {nodes[0].name} --limit {host.name}"
        )
