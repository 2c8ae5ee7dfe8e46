"""The containers of a node, created and started with the node's own `pct`."""

from pathlib import Path

from stoker.sandbox import gpu, lxc_node, network
from stoker.sandbox.state import Container, Node, State


def root(state: State, container: Container) -> Path:
    """The container's root file system, seen from this machine. Its root is user 100000 here."""
    home = next(node for node in state.nodes if node.name == container.node)
    return lxc_node.data(state, home) / "lxc" / str(container.vmid) / "rootfs"


def options(state: State, container: Container) -> list[str]:
    """The words after `pct create <vmid> <template>`: its GPUs and a fixed address."""
    gateway = network.gateway(state.subnet)
    is_neighbour = container in state.neighbours
    words = ["--hostname", "neighbour" if is_neighbour else f"ct{container.vmid}"]
    words += ["--tags", "neighbour"] if is_neighbour else []
    words += ["--cores", "2", "--memory", "8192"]
    words += ["--rootfs", "local:16", "--features", "nesting=1", "--onboot", "1"]
    address = network.with_prefix(container.address, state.subnet)
    words += ["--net0", f"name=eth0,bridge=vmbr0,ip={address},gw={gateway}"]
    minors = state.minors(container)
    if state.gpus:
        words += ["--mp9", "/var/lib/stoker-gpu,mp=/var/lib/stoker-gpu,ro=1"]
    for number, path in enumerate(gpu.node_paths(minors) if minors else []):
        words += [f"--dev{number}", f"{path},mode=0666"]
    return words


def created(state: State, home: Node, container: Container) -> None:
    """The container exists; it is not started here."""
    template = f"local:vztmpl/{state.template}-standard.tar.zst"
    words = ["pct", "create", str(container.vmid), template, *options(state, container)]
    lxc_node.attach(state, home, words)


def destroyed(state: State, home: Node, container: Container) -> None:
    """What an interrupted creation left is gone."""
    lxc_node.attach(state, home, ["pct", "unlock", str(container.vmid)], check=False)
    lxc_node.attach(state, home, ["pct", "destroy", str(container.vmid), "--force"])


def statuses(state: State, home: Node) -> dict[int, str]:
    """Status by VMID of every container the node knows."""
    lines = lxc_node.attach(state, home, ["pct", "list"]).splitlines()[1:]
    return {int(line.split()[0]): line.split()[1] for line in lines if line.strip()}


def started(state: State, home: Node, container: Container) -> None:
    """The container runs; its own init may still be starting."""
    lxc_node.attach(state, home, ["pct", "start", str(container.vmid)])
