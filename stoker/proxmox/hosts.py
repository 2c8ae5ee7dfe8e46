"""Hosts and groups of an inventory out of the containers that were chosen. Pure."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from stoker.proxmox import naming
from stoker.proxmox.choosing import Chosen, flagsets
from stoker.proxmox.cluster import Guest, Node
from stoker.proxmox.sites import Sites
from stoker.refused import Refused

Host = tuple[str, dict[str, Any]]
Found = tuple[str, Guest]
"""A node's name as a host, and a container on it."""

PVE, INFERENCE = "pve", "inference"
KINDS = ("node", "pool", "tag")
"""Of the other groups, in the order in which their data hold: the last over the others."""
RESERVED = (PVE, INFERENCE, "all", "proxmox")
"""Groups that there are anyhow; `proxmox` is what pyinfra makes of the file's name."""


def groups(chosen: Mapping[str, Chosen], sites: Sites) -> tuple[dict[str, list[Host]], list[str]]:
    """Group -> hosts, and sentences on groups that are not named as they would be.

    Raises `Refused` where two nodes would be reached at one address.
    """
    nodes = naming.nodes(
        [(one, node.name) for one, found in chosen.items() for node in found.nodes]
    )
    found = [(nodes[one, guest.node], guest) for one, c in chosen.items() for guest in c.guests]
    named = {kind: naming.groups(kind, _words(kind, found)) for kind in KINDS}
    made: dict[str, list[Host]] = {PVE: _pve(chosen, nodes, sites), INFERENCE: []}
    made |= {name: [] for kind in KINDS for name in sorted(named[kind].values())}
    taken = {name.lower() for name in (*RESERVED, *nodes.values(), *made)}
    made[INFERENCE] = _inference(found, taken, sites.tag)
    for host, (node, guest) in zip(made[INFERENCE], found, strict=True):
        for kind, word in _memberships(node, guest):
            made[named[kind][word]].append(host)
    return made, [told for kind in KINDS for told in _told(kind, named[kind])]


def _pve(
    chosen: Mapping[str, Chosen], nodes: Mapping[tuple[str, str], str], sites: Sites
) -> list[Host]:
    hosts = [
        (f"@pct/{nodes[one, node.name]}", _reached(node, one, sites))
        for one, found in chosen.items()
        for node in found.nodes
    ]
    there: dict[tuple[str, int], str] = {}
    for name, data in hosts:
        place = (data["ssh_hostname"], data.get("ssh_port", 22))
        if place in there:
            raise Refused(
                f"cannot tell {there[place]} from {name}: both are at {place[0]}; name a cluster "
                "once, and a node's own address in `addresses`"
            )
        there[place] = name
    return hosts


def _reached(node: Node, cluster: str, sites: Sites) -> dict[str, Any]:
    """pyinfra's data of a node."""
    given = sites.clusters[cluster].addresses.get(node.name)
    data: dict[str, Any] = {str(key): value for key, value in sites.ssh.items()}
    return {**data, "ssh_hostname": given or node.ip or node.name}


def _inference(found: Sequence[Found], taken: Collection[str], tag: str) -> list[Host]:
    like = Counter(guest.name.lower() for _, guest in found)
    hosts: list[Host] = []
    for node, guest in found:
        mine = guest.name.lower()
        alone = like[mine] == 1 and mine not in taken and naming.is_word(guest.name)
        data: dict[str, Any] = {"pct_host": node, "pct_vmid": guest.vmid}
        if served := flagsets(guest, tag):
            data["flagsets"] = served
        hosts.append((f"@pct/{guest.name if alone else f'{node}/{guest.vmid}'}", data))
    return hosts


def _memberships(node: str, guest: Guest) -> Iterator[tuple[str, str]]:
    yield "node", node
    if guest.pool:
        yield "pool", guest.pool
    for tag in sorted(guest.tags):
        yield "tag", tag


def _words(kind: str, found: Sequence[Found]) -> list[str]:
    return [word for place in found for one, word in _memberships(*place) if one == kind]


def _told(kind: str, names: Mapping[str, str]) -> Iterator[str]:
    for word, name in naming.ended(kind, names).items():
        yield f"the group of {kind} {word!a} is {name}: another one's name would be the same"
