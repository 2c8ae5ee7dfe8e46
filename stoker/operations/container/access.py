"""How the Proxmox of a container is talked to: the data `proxmox`."""

from collections.abc import Mapping
from typing import Any

from pyinfra import inventory
from pyinfra.api.host import Host

from stoker.proxmox.access import Access
from stoker.refused import Refused

KEY = "proxmox"


def of(container: Host) -> Access:
    """The container's own data, else that of its node in the inventory, else ssh to its node.

    Raises Refused.
    """
    said = container.data.get(KEY)
    if said is None:
        node = _node(container.data.get("pct_host"))
        said = None if node is None else node.data.get(KEY)
    return Access.of(said or {})


def check(hosts: Mapping[str, Mapping[str, Any]]) -> None:
    """Every problem of the data `proxmox` of these hosts in one Refused; name -> data."""
    problems: list[str] = []
    for name, data in hosts.items():
        if data.get(KEY) is None:
            continue
        try:
            Access.of(data[KEY])
        except Refused as error:
            lines = [line.removeprefix("cannot use the data ") for line in str(error).splitlines()]
            problems += [f"{name}: {line}" for line in lines]
    if problems:
        raise Refused("\n".join(["cannot use the inventory; correct this host data:", *problems]))


def _node(name: str | None) -> Host | None:
    """As the connector finds it."""
    for known in (f"{name}", f"@pct/{name}", f"@ssh/{name}"):
        if name and (node := inventory.get_host(known, default=None)):
            return node
    return None
