"""What the command line shows of an instance."""

from stoker.sandbox import guest, lxc_node
from stoker.sandbox.state import Container, Node, State


def _containers(state: State, node: Node, live: bool) -> list[str]:
    told = guest.statuses(state, node) if live and lxc_node.running(state, node) else None
    return [
        f"  CT {container.vmid}  {container.address:<15} {_of(state, container, told)}".rstrip()
        for container in state.guests(node)
    ]


def _of(state: State, container: Container, told: dict[int, str] | None) -> str:
    """What the node says of it; None: it was not asked."""
    status = (told or {}).get(container.vmid, "")
    if container in state.neighbours:
        return f"{status:<9} a neighbour on GPU {state.minors(container)[0]}, not in the inventory"
    return status or ("planned" if state.bare and told is not None else "")


def summary(state: State, *, live: bool = True) -> str:
    """One line a node and a container; whether they run is asked only if `live` (as root)."""
    size = f"{state.template} containers, {state.gpus} stand-in GPUs on each node"
    lines = [f"sandbox {state.name}: {size}"]
    for node in state.nodes:
        running = ("running" if lxc_node.running(state, node) else "stopped") if live else ""
        lines.append(f"{node.name}    {node.address:<15} {running}".rstrip())
        lines += _containers(state, node, live)
    first = state.nodes[0]
    lines.append(
        f"ssh -i {state.ssh_key} -o UserKnownHostsFile={state.known_hosts} root@{first.address}"
    )
    return "\n".join(lines)
