"""Clusters as their API tells of them, and files that name them, for the tests of the inventory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stoker.proxmox.choosing import Chosen, chosen
from stoker.proxmox.cluster import Cluster, asked
from stoker.proxmox.hosts import Host, groups
from stoker.proxmox.sites import Sites

SITE = {"hosts": ["192.0.2.10"], "token": "stoker-read@pve!inventory", "secret_env": "LAB_SECRET"}


def guest(vmid: int, name: str = "", tags: str = "stoker", **more: Any) -> dict[str, Any]:
    """A line of /cluster/resources."""
    line = {"type": "lxc", "id": f"lxc/{vmid}", "vmid": vmid, "node": "pve1", "status": "running"}
    return {**line, "name": name or f"ct{vmid}", "template": 0, "tags": tags, **more}


def cluster(*guests: Mapping[str, Any], **nodes: bool) -> Cluster:
    """One with these guests; node -> whether it is online."""
    there = nodes or {"pve1": True}
    status = [
        {"type": "cluster", "name": "lab", "quorate": 1},
        *(
            {"type": "node", "name": name, "ip": f"192.0.2.{10 + index}", "online": int(online)}
            for index, (name, online) in enumerate(there.items(), 1)
        ),
    ]
    answers = {"cluster/status": status, "cluster/resources": list(guests)}
    return asked(lambda path, **_: answers[path], "lab")


def taken(*guests: Mapping[str, Any], **nodes: bool) -> Chosen:
    """What is chosen there by the tag `stoker`."""
    return chosen(cluster(*guests, **nodes), "stoker", stopped=False)


def sites(*names: str, **more: Any) -> Sites:
    """A file's content with clusters of these names, `lab` if none is given."""
    clusters = dict.fromkeys(names or ("lab",), SITE)
    return Sites.model_validate({"clusters": clusters, **more})


def made(*guests: Mapping[str, Any], **nodes: bool) -> dict[str, list[Host]]:
    """The groups of one cluster with these guests."""
    return groups({"lab": taken(*guests, **nodes)}, sites())[0]


def names(hosts: list[Host]) -> list[str]:
    """Without their data."""
    return [name for name, _ in hosts]


def secret_in(directory: Path, secret: str) -> Path:
    """A file with a secret that nobody else may read."""
    file = directory / "secret"
    file.touch(0o600)
    file.write_text(f"{secret}\n")
    return file
