"""Which guests of a cluster are hosts, and what is said of those that nearly were. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stoker.proxmox.cluster import Cluster, Guest, Node

STOPPED = "stopped"


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
    ours = [guest for guest in cluster.guests if not guest.template and tag in guest.tags]
    containers = [guest for guest in ours if guest.kind == "lxc"]
    there = [guest for guest in containers if _online(cluster, guest)]
    taken = [guest for guest in there if stopped or guest.status != STOPPED]
    by_half = [g for g in cluster.guests if tag not in g.tags and flagsets(g, tag)]
    told = (
        *_offline([guest for guest in containers if not _online(cluster, guest)]),
        *_told("stopped, so left out (`stopped: true` takes them too)", there, taken),
        *_told("tagged, but virtual machines, so left out", ours, containers),
        *_told(f"tagged for a flag set, but not {tag}, so left out", by_half),
    )
    return Chosen(
        tuple(sorted(taken, key=lambda guest: guest.vmid)),
        tuple(cluster.nodes[name] for name in sorted({guest.node for guest in taken})),
        told,
    )


def flagsets(guest: Guest, tag: str) -> list[str]:
    """Those that its tags name, as `stoker.qwen3.6-27b` does; empty: none is named."""
    return sorted(t.removeprefix(f"{tag}.") for t in guest.tags if t.startswith(f"{tag}."))


def _online(cluster: Cluster, guest: Guest) -> bool:
    node = cluster.nodes.get(guest.node)
    return node is not None and node.online


def _offline(guests: Sequence[Guest]) -> Iterator[str]:
    for node in sorted({guest.node for guest in guests}):
        lost = [guest for guest in guests if guest.node == node]
        yield from _told(f"node {node} is offline, so left out", lost)


def _told(what: str, guests: Iterable[Guest], without: Sequence[Guest] = ()) -> Iterator[str]:
    kept = {guest.vmid for guest in without}
    left = sorted((guest for guest in guests if guest.vmid not in kept), key=lambda g: g.vmid)
    names = (f"{guest.vmid} {guest.name!a}" if guest.name else str(guest.vmid) for guest in left)
    if left:
        yield f"{what}: {', '.join(names)}"
