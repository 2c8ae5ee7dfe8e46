"""An instance as pyinfra's inventory wants it; the loader of `inventory/sandbox.py`."""

import os
import sys
from dataclasses import dataclass
from typing import Any

from stoker.refused import Refused
from stoker.sandbox import account, gpu, network
from stoker.sandbox import state as states
from stoker.sandbox.state import Container, Node, State

Host = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Groups:
    """The two groups of hosts that deploy.py knows."""

    pve: list[Host]
    inference: list[Host]


def of(state: State) -> Groups:
    """Nodes as ssh hosts, containers through them; of a bare instance what they should be too."""
    return Groups(
        [(f"@pct/{node.name}", _node(state, node)) for node in state.nodes],
        [(f"@pct/ct{one.vmid}", _container(state, one)) for one in state.containers],
    )


def _node(state: State, node: Node) -> dict[str, Any]:
    data: dict[str, Any] = {
        "ssh_hostname": node.address,
        "ssh_port": node.ssh_port,
        "ssh_user": "root",
        "ssh_key": str(state.ssh_key),
        "ssh_known_hosts_file": str(state.known_hosts),
    }
    if state.bare:
        data["proxmox"] = {
            "backend": "token",
            "host": node.address,
            "token": account.TOKEN,
            "secret_file": str(state.api_secret),
            "ca_file": str(state.ca_file),
        }
    return data


def _container(state: State, container: Container) -> dict[str, Any]:
    data: dict[str, Any] = {
        "pct_host": container.node,
        "pct_vmid": container.vmid,
        "flagsets": ["sandbox-tiny"],
    }
    if state.bare:
        data["container"] = wanted(state, container)
    return data


def wanted(state: State, container: Container) -> dict[str, Any]:
    """The container as it should be made; the stand-in driver's state is mounted with the model."""
    every = gpu.initial(f"{state.name}/{container.node}", state.gpus)["gpus"]
    found: dict[str, Any] = {
        "template": f"local:vztmpl/{state.template}-standard.tar.zst",
        "storage": "local",
        "rootfs_gib": 16,
        "hostname": f"ct{container.vmid}",
        "cores": 2,
        "memory_mib": 8192,
        "networks": [
            {
                "name": "eth0",
                "bridge": "vmbr0",
                "ip": network.with_prefix(container.address, state.subnet),
                "gateway": network.gateway(state.subnet),
            }
        ],
        "features": {"nesting": True},
        "onboot": True,
        "tags": ["stoker"],
        "mounts": [{"source": "/models", "target": "/models", "read_only": True}],
    }
    if state.gpus:
        driver = "/var/lib/stoker-gpu"
        found["mounts"].insert(0, {"source": driver, "target": driver, "read_only": True})
        found["gpus"] = [every[minor]["uuid"] for minor in state.minors(container)]
    return found


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
