"""What `pct exec` looks at before it enters a container, and what it forgets (frozen)."""

import os
from typing import Any, Dict

PVE = "/etc/pve"
LXC = "/var/lib/lxc"


class Refusal(Exception):
    """The agent says no, and nothing was run: a kind for the client to name, and its facts.

    `passing`: asked again a little later, it may be another answer.
    """

    def __init__(self, kind: str, passing: bool = False, **facts: Any) -> None:
        super().__init__(kind)
        self.passing = passing
        self.answer: Dict[str, Any] = {"error": kind, **facts}


def enterable(vmid: int) -> None:
    """Raise a Refusal unless the container is here and runs. Frozen is another question."""
    if not os.path.isdir(PVE + "/lxc"):
        raise Refusal("cluster-fs-down")
    if not os.path.exists("%s/lxc/%d.conf" % (PVE, vmid)):
        raise _absent(vmid)
    if not running(vmid):
        raise Refusal("stopped")


def _absent(vmid: int) -> Refusal:
    for node in sorted(os.listdir(PVE + "/nodes")) if os.path.isdir(PVE + "/nodes") else ():
        for kind in ("lxc", "qemu-server"):
            if os.path.exists("%s/nodes/%s/%s/%d.conf" % (PVE, node, kind, vmid)):
                return Refusal("other-node" if kind == "lxc" else "virtual-machine", at=node)
    return Refusal("no-such-container")


def running(vmid: int) -> bool:
    """Whether its monitor listens, which is Proxmox's own test (source: /proc/net/unix)."""
    wanted = "@%s/%d/command" % (LXC, vmid)
    with open("/proc/net/unix", errors="replace") as sockets:
        return any(line.rstrip("\n").endswith(wanted) for line in sockets)


def cgroup_root() -> str:
    """Where the unified hierarchy is mounted; "" if nowhere."""
    with open("/proc/self/mounts", errors="replace") as mounts:
        for line in mounts:
            fields = line.split()
            if fields[2] == "cgroup2":
                return fields[1]
    return ""


def not_frozen(root: str, vmid: int) -> None:
    """Raise a Refusal if a command in it would hang, for it is frozen or about to be.

    `cgroup.events` of the inner group tells the state with its ancestors, but only once every
    process stands still; `cgroup.freeze` tells the wish.
    """
    group = "%s/lxc/%d" % (root, vmid)
    if (
        "frozen 1" in _text(group + "/ns/cgroup.events")
        or _text(group + "/cgroup.freeze").startswith("1")
        or _text(group + "/ns/cgroup.freeze").startswith("1")
    ):
        raise Refusal("frozen", passing=True)


def _text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""  # no such group: it has just stopped, and entering it will say so
