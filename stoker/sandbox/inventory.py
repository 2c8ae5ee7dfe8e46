"""An instance as pyinfra's inventory wants it; the loader of `inventory/sandbox.py`."""

import os
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
    """Those of the instance of that name; one sentence and the end where it cannot be used."""
    try:
        return of(readable(states.load(name)))
    except Refused as reason:
        sys.exit(str(reason))


def readable(state: State) -> State:
    """The same; `Refused` where its key is another user's."""
    if state.ssh_key.exists() and not os.access(state.ssh_key, os.R_OK):
        raise Refused(
            f"cannot use sandbox {state.name}: this user may not read {state.ssh_key}; run "
            f"`python -m stoker.sandbox up --name {state.name}` as this user, which hands it over"
        )
    return state
