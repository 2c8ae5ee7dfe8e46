"""Ugly sides of a node that can be switched on and off by name: `break NAME`, `break --heal`.

Unlike the stuck states these break nothing that runs; they change what the node is: its Proxmox
version, its quorum, its driver, what a boot leaves in /dev. `pve-container`'s version decides what
`devN` can do, as measured on one and read in its source.
"""

from collections.abc import Callable
from typing import NamedTuple

from stoker.refused import Refused
from stoker.sandbox import contents, gpu, lxc_node, pve
from stoker.sandbox.files import write_atomically
from stoker.sandbox.node import LIBRARY, gpu_kernel, version
from stoker.sandbox.node.cluster import SHARED_MOUNT
from stoker.sandbox.node.web.work import DELAY
from stoker.sandbox.state import Node, State

SLOW_S = 15
_VERSION = f"{LIBRARY}/pve-container.version"


class Switch(NamedTuple):
    """What is so when it is on, and how it is turned on and off on one node."""

    what: str
    on: Callable[[State, Node], None]
    off: Callable[[State, Node], None]


def _claimed(number: str) -> Callable[[State, Node], None]:
    def claim(state: State, node: Node) -> None:
        write_atomically(lxc_node.root(state, node) / _VERSION, f"{number}\n")

    return claim


def _quorum(quorate: bool) -> Callable[[State, Node], None]:
    """/etc/pve is read-only without it, for a shell on the node too."""

    def change(state: State, node: Node) -> None:
        told = pve.members(state, node, quorate)
        write_atomically(lxc_node.root(state, node) / "etc/pve/.members", told, 0o640)
        options = f"remount,bind,{'rw' if quorate else 'ro'}"
        words = ["mount", "-o", options, SHARED_MOUNT]
        lxc_node.attach(state, node, words, check=False)

    return change


def _upgraded(state: State, node: Node) -> None:
    if not state.gpus:
        raise Refused("cannot upgrade a driver: this sandbox has no GPUs; build it with some")
    with gpu.changing(lxc_node.shared(state, node) / "state.json") as told:
        told["installed_version"] = gpu_kernel.NEWER
    _libraries(state, node, gpu_kernel.NEWER)


def _downgraded(state: State, node: Node) -> None:
    with gpu.changing(lxc_node.shared(state, node) / "state.json") as told:
        told.pop("installed_version", None)
        told["driver_version"] = gpu.DRIVER_VERSION
    _libraries(state, node, gpu.DRIVER_VERSION)


def _libraries(state: State, node: Node, number: str) -> None:
    if state.gpus:
        contents.driver_on_node(lxc_node.root(state, node), number)
        lxc_node.attach(state, node, ["ldconfig"])
        lxc_node.observe(state, node)


def _lazy(lazy: bool) -> Callable[[State, Node], None]:
    def change(state: State, node: Node) -> None:
        with gpu.changing(lxc_node.shared(state, node) / "state.json") as told:
            told["lazy_nodes"] = lazy
        if not lazy and state.gpus:
            lxc_node.attach(state, node, ["modprobe", "nvidia_uvm"])
            lxc_node.attach(state, node, ["nvidia-modprobe"])

    return change


def _slow(state: State, node: Node) -> None:
    write_atomically(lxc_node.root(state, node) / DELAY[1:], f"{SLOW_S}\n")


def _quick(state: State, node: Node) -> None:
    (lxc_node.root(state, node) / DELAY[1:]).unlink(missing_ok=True)


_STALE = "/dev/nvidia-uvm"
_EMPTY = "/dev/.stoker-empty"


def _in_first(state: State, node: Node, script: str) -> str:
    """Run a script as root of the first container."""
    vmid = str(state.containers[0].vmid)
    words = ["lxc-attach", "-n", vmid, "--clear-env", "--", "sh", "-c", script]
    return lxc_node.attach(state, node, words, check=False)


def _file(state: State, node: Node) -> None:
    """What `optional,create=file` leaves of a device that the node did not have at the start.

    Over the device: what the start has mounted, no one takes away before the container's end.
    """
    script = f"test -c {_STALE} && : >{_EMPTY} && chmod 000 {_EMPTY} &&"
    if "done" not in _in_first(
        state, node, f"{script} mount --bind {_EMPTY} {_STALE} && echo done"
    ):
        raise Refused(
            f"cannot put a file in place of {_STALE} in CT {state.containers[0].vmid}: it does not "
            "run, or has no such device; start it with its GPUs first"
        )


def _device(state: State, node: Node) -> None:
    _in_first(state, node, f"test -f {_STALE} && umount {_STALE} && rm -f {_EMPTY}")


_NOW = _claimed(version.CONTAINER)
SWITCHES: dict[str, Switch] = {
    "proxmox-8": Switch(
        "pve-container is 5.2.6: a new devN reaches a running container at its next start",
        _claimed("5.2.6"),
        _NOW,
    ),
    "proxmox-7": Switch("pve-container is 4.4.6: it has no devN", _claimed("4.4.6"), _NOW),
    "quorum-lost": Switch("/etc/pve is read-only", _quorum(False), _quorum(True)),
    "driver-upgraded": Switch(
        f"the driver's package is {gpu_kernel.NEWER}, the loaded module older until the next boot",
        _upgraded,
        _downgraded,
    ),
    "lazy-nodes": Switch(
        "the next boot leaves no /dev/nvidia*: nvidia-modprobe makes them",
        _lazy(True),
        _lazy(False),
    ),
    "file-for-device": Switch(
        f"{_STALE} is an empty file of mode 0000 in the first container, which runs on",
        _file,
        _device,
    ),
    "slow-tasks": Switch(f"every task of the API takes {SLOW_S} s longer", _slow, _quick),
}


def turn_on(state: State, name: str) -> str:
    """Switch it on: on every node, or where the first container is; what is so then."""
    for node in _of(state, name):
        SWITCHES[name].on(state, node)
    return f"{name}: {SWITCHES[name].what}"


def _of(state: State, name: str) -> tuple[Node, ...]:
    return state.nodes[:1] if name == "file-for-device" else state.nodes


def heal(state: State) -> None:
    """Every one is off on every node that runs."""
    for name, switch in SWITCHES.items():
        for node in _of(state, name):
            if lxc_node.running(state, node):
                switch.off(state, node)
