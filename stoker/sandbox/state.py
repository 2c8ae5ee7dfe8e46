"""What one sandbox instance consists of, as `up` left it and as the inventory reads it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stoker.refused import Refused
from stoker.sandbox import places
from stoker.sandbox.files import write_atomically


@dataclass(frozen=True)
class Node:
    """A Proxmox-like node: an LXC system container of this machine."""

    name: str
    address: str
    ssh_port: int = 22


@dataclass(frozen=True)
class Container:
    """A guest of a node, with the address it was created with."""

    node: str
    vmid: int
    address: str


@dataclass(frozen=True)
class State:
    """One instance. `gpus` are stand-ins on every node; `template` is the guests' distribution."""

    name: str
    subnet: str
    gpus: int
    template: str
    nodes: tuple[Node, ...]
    containers: tuple[Container, ...]
    neighbours: tuple[Container, ...] = ()
    """Containers of the first node that are somebody else's: in no inventory, each with a GPU."""
    bare: bool = False
    """Ours are planned and not created: who deploys does that."""

    def guests(self, node: Node) -> list[Container]:
        """Every container of a node, ours and the neighbours."""
        return [one for one in (*self.containers, *self.neighbours) if one.node == node.name]

    def minors(self, container: Container) -> list[int]:
        """The GPUs passed to a container: to a neighbour one of the last, to ours the others."""
        if container in self.neighbours:
            return [self.gpus - len(self.neighbours) + self.neighbours.index(container)]
        here = [one for one in self.neighbours if one.node == container.node]
        return list(range(self.gpus - len(here)))

    @property
    def bridge(self) -> str:
        """The bridge on this machine that all nodes of the instance hang on."""
        return f"stk-{self.name}"

    @property
    def directory(self) -> Path:
        """Where the instance lives on this machine."""
        return places.instance(self.name)

    @property
    def ssh_key(self) -> Path:
        """The private key that opens root on every node; the user who called `up` can read it."""
        return self.directory / "ssh_key"

    @property
    def ca_file(self) -> Path:
        """The authority of the nodes' certificates, for clients of their API."""
        return self.directory / "pve-root-ca.pem"

    @property
    def api_secret(self) -> Path:
        """The secret of the API token, for the user who called `up` alone."""
        return self.directory / "api_secret"

    @property
    def root_password(self) -> Path:
        """The password of root@pam at the API, for the user who called `up` alone."""
        return self.directory / "root_password"

    @property
    def known_hosts(self) -> Path:
        """The nodes' host keys, which we made ourselves."""
        return self.directory / "known_hosts"

    def save(self) -> None:
        """Write it where `load` finds it."""
        write_atomically(self.directory / "state.json", json.dumps(asdict(self), indent=2) + "\n")


def exists(name: str) -> bool:
    """Whether `up` was begun for this name and `down` not finished."""
    return (places.instance(name) / "state.json").exists()


def load(name: str = "demo") -> State:
    """The instance of that name; `Refused` when there is none."""
    path = places.instance(name) / "state.json"
    try:
        data: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        raise Refused(
            f"cannot use sandbox {name}: it does not exist; run "
            f"`python -m stoker.sandbox up{'' if name == 'demo' else f' --name {name}'}`"
        ) from None
    nodes = tuple(Node(**node) for node in data.pop("nodes"))
    containers = tuple(Container(**container) for container in data.pop("containers"))
    # An instance of an older checkout has neither these nor `bare`.
    neighbours = tuple(Container(**container) for container in data.pop("neighbours", ()))
    return State(nodes=nodes, containers=containers, neighbours=neighbours, **data)


def all_states() -> list[State]:
    """Every instance on this machine, by name."""
    return [load(path.parent.name) for path in sorted(places.ROOT.glob("*/state.json"))]
