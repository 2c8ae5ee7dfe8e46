"""Holders that are not CT 200's: a service of the node, a process of the neighbour."""

from stoker.refused import Refused
from stoker.sandbox import lxc_node
from stoker.sandbox.node.marked import NAME
from stoker.sandbox.state import Node, State
from stoker.sandbox.stuck import holder, processes, started
from stoker.sandbox.stuck.container import Target
from stoker.sandbox.stuck.processes import Process
from stoker.sandbox.stuck.started import Started

SERVICE = "gpu-exporter.service"
_KEY = "dev9"


def host_service(target: Target, one: Started) -> None:
    """A service of the node holds GPU 0, as an exporter of metrics does."""
    target.given_up()
    one = started.changed(target.state, one, service=SERVICE)
    command = f"{holder.PROGRAM} plain {' '.join(target.nodes(0))}"
    unit = (
        "[Unit]\nDescription=STAND-IN for an exporter of GPU metrics\n"
        f"[Service]\nEnvironment={NAME}={one.mark}\nExecStart={command}\n"
    )
    script = f"cat >/run/systemd/system/{SERVICE}; systemctl daemon-reload; systemctl start $1"
    words = ["sh", "-c", script, "sh", SERVICE]
    lxc_node.attach(target.state, target.node, words, stdin=unit.encode())
    processes.awaited(target, one, _holding, "a holder on the node")


def _holding(seen: list[Process]) -> bool:
    return any(process.nodes for process in seen)


def no_service(state: State, node: Node, service: str) -> None:
    """The service is gone without a trace."""
    script = 'systemctl stop "$1"; rm -f "/run/systemd/system/$1"; systemctl daemon-reload'
    lxc_node.attach(state, node, ["sh", "-c", script, "sh", service], check=False)


def neighbour(target: Target, one: Started) -> None:
    """GPU 0 is passed to the neighbour too, and a process of the neighbour holds it."""
    state, node = target.state, target.node
    here = [container for container in state.neighbours if container.node == node.name]
    if not here:
        raise Refused(
            f"cannot let a neighbour of sandbox {state.name} hold a GPU: it has none; build it "
            "with --neighbours 1"
        )
    target.given_up()
    one = started.changed(state, one, device=(here[0].vmid, _KEY))
    vmid = str(here[0].vmid)
    passed = ["pct", "set", vmid, f"--{_KEY}", "/dev/nvidia0,mode=0666"]
    lxc_node.attach(state, node, passed)
    inside = Target(state, node, here[0])
    processes.launch(inside, one, [holder.PROGRAM, "plain", *target.nodes(0)])
    processes.awaited(
        target, one, lambda seen: any(p.nodes for p in seen), "the neighbour's holder"
    )


def not_passed(state: State, node: Node, vmid: int, key: str) -> None:
    """The device is not passed any more; Proxmox takes it away at the container's next start."""
    attach = lxc_node.attach
    attach(state, node, ["pct", "set", str(vmid), "--delete", key], check=False)
    attach(state, node, ["pct", "reboot", str(vmid)], check=False)
