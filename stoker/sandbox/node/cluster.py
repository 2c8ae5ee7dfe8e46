"""Stand-in: the members of the cluster, as /etc/pve/.members tells them, and its quorum."""

from __future__ import annotations

import json
import os
import socket
from typing import Any, Dict

from .died import Died

ROOT = "/etc/pve"
# What the nodes of an instance share; links of /etc/pve lead here.
SHARED_MOUNT = "/var/lib/pve-cluster/shared"
PORT = 8006
NO_QUORUM = "cluster not ready - no quorum?"


def node_name() -> str:
    """This node's name, as in /etc/pve/nodes/<name>."""
    return socket.gethostname().split(".")[0]


def members() -> Dict[str, Any]:
    """The file's content; a node without one is alone."""
    try:
        with open(f"{ROOT}/.members") as stream:
            found: Dict[str, Any] = json.load(stream)
    except FileNotFoundError:
        found = {}
    found.setdefault("nodelist", {node_name(): {"id": 1, "ip": "127.0.0.1"}})
    return found


def addresses() -> Dict[str, str]:
    """Address by name of every node of the cluster."""
    return {name: str(one["ip"]) for name, one in members()["nodelist"].items()}


def quorate() -> bool:
    """Whether this part of the cluster has the majority: without it /etc/pve is read-only."""
    return bool(members().get("cluster", {}).get("quorate", 1))


def require_quorum() -> None:
    """Die without it, as PVE::Cluster::check_cfs_quorum does."""
    if not quorate():
        raise Died(NO_QUORUM)


def refuse_write(path: str) -> None:
    """Die without quorum, as a write to /etc/pve does then."""
    if not quorate():
        temporary = f"{path}.tmp.{os.getpid()}"
        raise Died(f"unable to open file '{temporary}' - Permission denied", 13)


def online(name: str) -> bool:
    """Whether the API of a node can be reached; this one's can."""
    if name == node_name():
        return True
    try:
        socket.create_connection((addresses()[name], PORT), timeout=1).close()
    except OSError:
        return False
    return True
