"""An instance as pyinfra's inventory wants it; the loader of `inventory/sandbox.py`."""

import sys
from dataclasses import dataclass
from typing import Any

from stoker.refused import Refused
from stoker.sandbox import state as states
from stoker.sandbox.state import State

Host = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Groups:
    """The two groups of hosts that deploy.py knows."""

    pve: list[Host]
    inference: list[Host]


def of(state: State) -> Groups:
    """Nodes as ssh hosts, containers through them."""
    pve: list[Host] = [
        (
            f"@pct/{node.name}",
            {
                "ssh_hostname": node.address,
                "ssh_port": node.ssh_port,
                "ssh_user": "root",
                "ssh_key": str(state.ssh_key),
                "ssh_known_hosts_file": str(state.known_hosts),
            },
        )
        for node in state.nodes
    ]
    inference: list[Host] = [
        (
            f"@pct/ct{container.vmid}",
            {
                "pct_host": container.node,
                "pct_vmid": container.vmid,
                "flagsets": ["sandbox-tiny"],
            },
        )
        for container in state.containers
    ]
    return Groups(pve, inference)


def groups(name: str) -> Groups:
    """Those of the instance of that name; one sentence and the end where there is none."""
    try:
        return of(states.load(name))
    except Refused as reason:
        sys.exit(str(reason))
