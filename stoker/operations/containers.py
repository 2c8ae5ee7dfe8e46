"""Which containers of the inventory a node has."""

from pyinfra import inventory, state
from pyinfra.api.host import Host


def of(node: Host) -> list[Host]:
    """Its containers in the inventory, within the limit or not, in the inventory's order."""
    return [
        host
        for host in inventory
        if host.data.get("pct_vmid") and _names(host.data.get("pct_host"), node.name)
    ]


def within_limit(hosts: list[Host]) -> list[Host]:
    """Those of them that this run is about."""
    return [host for host in hosts if state.is_host_in_limit(host)]


def _names(pct_host: str | None, node: str) -> bool:
    # As the connector finds it: a node may be in the inventory as a plain ssh host.
    return node in (pct_host, f"@ssh/{pct_host}")
