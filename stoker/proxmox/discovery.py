"""An inventory as Proxmox has it; the loader of `inventory/proxmox.py`.

Two requests a cluster, and nothing is kept: what Proxmox says now is what holds.
"""

import sys
from contextlib import suppress
from pathlib import Path

from stoker.proxmox import choosing, cluster, hosts, sites
from stoker.proxmox.access import Access
from stoker.proxmox.api import Session
from stoker.proxmox.cluster import Cluster
from stoker.proxmox.errors import ProxmoxError, Unreachable
from stoker.proxmox.sites import Site, Sites
from stoker.refused import Refused

Groups = dict[str, list[hosts.Host]]


def groups(path: str | Path) -> Groups:
    """Those of the clusters in that file; one sentence a reason, and the end, where there are none.

    What an operator may miss is told on standard error, a sentence a line.
    """
    try:
        found, told = discovered(sites.load(Path(path).expanduser()))
    except Refused as reason:
        sys.exit(str(reason))
    for sentence in told:
        print(sentence, file=sys.stderr)
    return found


def discovered(asked: Sites) -> tuple[Groups, list[str]]:
    """Groups and sentences. Raises `Refused`, with what is wrong with each cluster, or where no
    container is left."""
    clusters, told = _answers(asked)
    chosen = {
        name: choosing.chosen(found, asked.tag, asked.stopped) for name, found in clusters.items()
    }
    for name, one in chosen.items():
        access = asked.clusters[name].accesses[0]
        said = one.told if one.told or one.guests else [_nothing(clusters[name], asked.tag, access)]
        told += [f"{name}: {sentence}" for sentence in said]
    if not any(one.guests for one in chosen.values()):
        raise Refused("\n".join(["cannot make an inventory: there is no container to take", *told]))
    made, renamed = hosts.groups(chosen, asked)
    return made, told + renamed


def _answers(asked: Sites) -> tuple[dict[str, Cluster], list[str]]:
    """What each cluster says, and sentences on those that need not answer and do not."""
    clusters: dict[str, Cluster] = {}
    told: list[str] = []
    problems: list[str] = []
    for name, site in asked.clusters.items():
        try:
            clusters[name] = _answer(name, site)
            problems += _misnamed(name, site, clusters[name])
        except ProxmoxError as reason:
            if isinstance(reason, Unreachable) and not site.required:
                told.append(f"{name}: left out: {reason}")
            else:
                problems.append(str(reason))
    if problems:
        raise Refused("\n".join(problems))
    return clusters, told


def _answer(name: str, site: Site) -> Cluster:
    """Of the first host that gives one."""
    *others, last = site.accesses
    for access in others:
        with suppress(Unreachable):
            return _asked(name, access)
    return _asked(name, last)


def _asked(name: str, access: Access) -> Cluster:
    session = Session(access)
    words = f"read the containers of {name}"
    return cluster.asked(lambda path, **what: session.call("GET", path, what, words), name)


def _misnamed(name: str, site: Site, found: Cluster) -> list[str]:
    return [
        f"cannot use the address of {node}: {name} has no such node; correct `addresses`: there "
        f"are {', '.join(sorted(found.nodes))}"
        for node in site.addresses
        if node not in found.nodes
    ]


def _nothing(found: Cluster, tag: str, access: Access) -> str:
    """Proxmox shows only what one may see, and says nothing of the rest."""
    who = access.token or access.user
    if found.guests:
        return f"no container that {who} sees is tagged {tag}; tag one"
    return f"{who} sees no guest at all; give it the role PVEAuditor, as docs/inventory.md has it"
