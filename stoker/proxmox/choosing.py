"""Which guests of a cluster are hosts, and what is said of those that nearly were. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stoker.proxmox.cluster import Cluster, Guest, Node

RUNNING, STOPPED = "running", "stopped"


@dataclass(frozen=True)
class Chosen:
    """Of one cluster."""

    guests: tuple[Guest, ...] = ()
    """Containers, by VMID."""
    nodes: tuple[Node, ...] = ()
    """Those that have one of them, by name."""
    told: tuple[str, ...] = ()
    """A sentence on each kind of guests that have the tag and are left out."""


def chosen(cluster: Cluster, tag: str, stopped: bool) -> Chosen:
    """Containers with the tag on nodes that are online. `stopped`: also those that do not run.

    One whose state Proxmox does not know, on a node that is online, is taken: asked itself it says.
    Somebody else's guests, those without the tag, and templates are nobody's business here.
    """
    tagged = [g for g in cluster.guests if not g.template and _has(g, tag)]
    containers = [guest for guest in tagged if guest.kind == "lxc"]
    there = [guest for guest in containers if _online(cluster, guest)]
    taken = sorted(
        (guest for guest in there if stopped or guest.status != STOPPED),
        key=lambda guest: guest.vmid,
    )
    return Chosen(
        tuple(taken),
        tuple(cluster.nodes[name] for name in sorted({guest.node for guest in taken})),
        tuple(
            _told(
                [guest for guest in containers if not _online(cluster, guest)],
                [guest for guest in there if guest not in taken],
                [guest for guest in tagged if guest.kind != "lxc"],
            )
        ),
    )


def flagsets(guest: Guest, tag: str) -> list[str]:
    """Those that its tags name, as `stoker.qwen3.6-27b` does; empty: none is named."""
    return sorted(t.removeprefix(f"{tag}.") for t in guest.tags if t.startswith(f"{tag}."))


def _has(guest: Guest, tag: str) -> bool:
    return tag in guest.tags or bool(flagsets(guest, tag))


def _online(cluster: Cluster, guest: Guest) -> bool:
    node = cluster.nodes.get(guest.node)
    return node is not None and node.online


def _told(offline: list[Guest], halted: list[Guest], machines: list[Guest]) -> Iterator[str]:
    for node in sorted({guest.node for guest in offline}):
        gone = [guest for guest in offline if guest.node == node]
        yield f"node {node} is offline, so left out: {_names(gone)}"
    if halted:
        yield f"stopped, so left out (`stopped: true` takes them too): {_names(halted)}"
    if machines:
        yield f"tagged, but virtual machines, so left out: {_names(machines)}"


def _names(guests: Iterable[Guest]) -> str:
    ordered = sorted(guests, key=lambda guest: guest.vmid)
    return ", ".join(
        f"{guest.vmid} {guest.name!a}" if guest.name else str(guest.vmid) for guest in ordered
    )
