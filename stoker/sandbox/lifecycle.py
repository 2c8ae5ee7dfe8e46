"""Up, down and what lies between. Every step looks first, so `up` may be killed and run again."""

import fcntl
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stoker.refused import Refused
from stoker.sandbox import (
    contents,
    guest,
    image,
    keys,
    lxc_node,
    machine,
    network,
    node_api,
    node_files,
    places,
    progress,
    pve,
    sources,
    stuck,
)
from stoker.sandbox import state as states
from stoker.sandbox.files import refuse_mounts, remove_tree
from stoker.sandbox.state import Container, Node, State


@dataclass(frozen=True)
class Size:
    """What was asked for: containers and GPUs are those of each node."""

    nodes: int = 1
    containers: int = 1
    gpus: int = 8
    template: str = "debian-12"
    neighbours: int = 0
    """Somebody else's containers on the first node, each with one of its last GPUs."""
    bare: bool = False
    """Ours are planned and not created."""


def plan(name: str, size: Size, subnet: str) -> State:
    """The instance of that size in that subnet: VMIDs from 200 on pve1, from 300 on pve2.

    Neighbours have VMIDs from 250.
    """
    nodes = tuple(
        Node(f"pve{number + 1}", network.node_address(subnet, number))
        for number in range(size.nodes)
    )
    containers = tuple(
        Container(
            home.name,
            200 + 100 * number + index,
            network.container_address(subnet, number * size.containers + index),
        )
        for number, home in enumerate(nodes)
        for index in range(size.containers)
    )
    first = size.nodes * size.containers
    neighbours = tuple(
        Container(nodes[0].name, 250 + index, network.container_address(subnet, first + index))
        for index in range(size.neighbours)
    )
    return State(name, subnet, size.gpus, size.template, nodes, containers, neighbours, size.bare)


def size_of(state: State) -> Size:
    """The size an instance was built with."""
    nodes = len(state.nodes)
    containers = len(state.containers) // nodes
    neighbours = len(state.neighbours)
    return Size(nodes, containers, state.gpus, state.template, neighbours, state.bare)


def checked(size: Size) -> Size:
    """The same, or `Refused` where the network or the consoles of this machine do not suffice."""
    limits = {"nodes": (1, network.MOST_NODES), "gpus": (0, 16)}
    limits["neighbours"] = (0, min(size.gpus, 4))
    for_ours = network.MOST_CONTAINERS - max(size.neighbours, 0)
    limits["containers"] = (0, for_ours // max(size.nodes, 1))
    wrong = [
        f"cannot build {getattr(size, key)} {key}: between {least} and {most} fit; ask for those"
        for key, (least, most) in limits.items()
        if not least <= getattr(size, key) <= most
    ]
    if wrong:
        raise Refused("\n".join(wrong))
    return size


def up(name: str, size: Size) -> State:
    """Build what is missing of the instance and start what does not run."""
    _fit(name)
    with _alone(f".{name}.lock"):
        if not states.exists(name):
            _swept(name)
        return _up(name, size)


def _fit(name: str) -> None:
    found = machine.look()
    machine.refuse_production(found)
    first = machine.FURTHER_GIB if places.TEMPLATES.exists() else machine.FIRST_GIB
    machine.refuse_unfit(found, 0 if states.exists(name) else first)
    machine.install(found)


def _up(name: str, size: Size) -> State:
    with _alone(".lock"):
        state = _planned(name, size)
        image.template(state.template)
        root = image.node_root()
        network.present(state)
    owner = int(os.environ.get("SUDO_UID", "0"))
    keys.present(state.ssh_key, f"stoker-sandbox-{state.name}", owner)
    public = {home.address: _node_up(state, home, root, owner) for home in state.nodes}
    keys.write_known_hosts(state.known_hosts, public)
    for home in state.nodes:
        _guests_up(state, home)
    return state


def _planned(name: str, size: Size) -> State:
    if states.exists(name):
        existing = states.load(name)
        if size_of(existing) != size:
            raise Refused(
                f"cannot change the size of sandbox {name} while it stands; run "
                f"`python -m stoker.sandbox down --name {name}` first"
            )
        return existing
    archives = sources.archives(Path("/etc/apt"), image.machine_codename())
    taken = [*network.used_networks(), *(state.subnet for state in states.all_states())]
    taken += network.addresses_of(archive.uri for archive in archives)
    taken += [server for server in node_files.name_servers() if ":" not in server]
    state = plan(name, size, network.free_subnet(taken))
    state.save()
    return state


def _node_up(state: State, home: Node, root: Path, owner: int) -> str:
    if lxc_node.running(state, home):
        lxc_node.refresh(state, home, root)
        pve.placed(state, home, owner)
        node_api.ready(state, home)
        return lxc_node.host_key(state, home)
    with progress.shown(f"starting node {home.name} at {home.address}"):
        public = lxc_node.prepare(state, home, root)
        pve.placed(state, home, owner)
        lxc_node.start(state, home)
        node_api.ready(state, home)
    return public


def _guests_up(state: State, home: Node) -> None:
    listed = guest.statuses(state, home)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = [
            pool.submit(_guest_up, state, home, container, listed.get(container.vmid))
            for container in state.guests(home)
            if not state.bare or container in state.neighbours
        ]
    for outcome in done:
        outcome.result()


def _guest_up(state: State, home: Node, container: Container, status: str | None) -> None:
    """One container is there and runs; `status` is what the node says of it, None if unknown."""
    finished = lxc_node.data(state, home) / f"finished-{container.vmid}"
    if not finished.exists():
        with progress.shown(f"creating container {container.vmid} on {home.name}"):
            if status is not None:
                guest.destroyed(state, home, container)
            guest.created(state, home, container)
            contents.placed(state, container)
        finished.touch()
    if status != "running":
        guest.started(state, home, container)


def down(name: str) -> None:
    """Remove the instance; images and wheels stay in the cache. May be killed and run again."""
    if not places.instance(name).exists() and not places.removed(name).exists():
        print(f"  there is no sandbox {name}: nothing to remove")
        return
    with _alone(f".{name}.lock"):
        if states.exists(name):
            state = states.load(name)
            for home in state.nodes:
                with progress.shown(f"stopping node {home.name} and its containers"):
                    stuck.released(state, home)
                    lxc_node.stop(state, home)
                    stuck.cleared(state, home)
            network.absent(state)
        with progress.shown(f"deleting the files of sandbox {name}"):
            _swept(name)
        (places.ROOT / f".{name}.lock").unlink(missing_ok=True)


def _swept(name: str) -> None:
    """No file of the instance is left.

    It goes to another place first: of a half removed instance `up` would keep what is left, and
    without its state no second `down` would find it.
    """
    remove_tree(places.removed(name))
    if places.instance(name).exists():
        refuse_mounts(places.instance(name))
        places.removed(name).parent.mkdir(exist_ok=True)
        places.instance(name).rename(places.removed(name))
        remove_tree(places.removed(name))


@contextmanager
def _alone(lock_name: str) -> Iterator[None]:
    """Hold one of this machine's locks: an instance's, or the one for images and subnets."""
    places.ROOT.mkdir(parents=True, exist_ok=True)
    path = places.ROOT / lock_name
    while True:
        with path.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _say("another run of the sandbox is at work: waiting for it")
                fcntl.flock(lock, fcntl.LOCK_EX)
            # `down` removes the file: who waited for it holds nothing that anybody else sees.
            if path.exists() and path.samefile(f"/proc/self/fd/{lock.fileno()}"):
                yield
                return


def _say(what: str) -> None:
    print(f"  {what}", flush=True)
