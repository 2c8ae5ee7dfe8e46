"""What can go wrong between here and a command in a container, one class a cause.

All are OSError, which pyinfra reports as a failure of the host instead of ending the run. Each is
one sentence. `Lost` and `TimedOut` may have changed something; after all others nothing was run.
"""

from typing import Any


class PctError(OSError):
    """A command could not be run, or not to its end."""


class Unreachable(PctError):
    """The node does not answer over ssh, or cannot run the agent."""


class NotRoot(PctError):
    """The node answers, but its user may not enter containers."""


class NoPct(PctError):
    """The machine is not a Proxmox VE node."""


class NoSuchContainer(PctError):
    """No node of the cluster has a container of this VMID."""


class OnAnotherNode(PctError):
    """Another node of the cluster has it."""


class Stopped(PctError):
    """It is there and does not run."""


class Frozen(PctError):
    """It is frozen (a backup or a snapshot): a command in it would hang."""


class ClusterFsDown(PctError):
    """/etc/pve of the node is empty, so nothing can be said about its containers."""


class CannotEnter(PctError):
    """lxc-attach, or the shell in the container, did not start."""


class Busy(PctError):
    """Another run works on this container and holds its lock."""


class Unsendable(PctError):
    """The command is not one that a program can be given."""


class CommandFailed(PctError):
    """The command ended with an exit code that is not 0."""


class TimedOut(PctError, TimeoutError):
    """The command took too long and was killed; the sentence names what would not die."""


class Lost(PctError):
    """It may have run, wholly or in part, and how it ended is not known."""


_SENTENCES: dict[str, tuple[type[PctError], str]] = {
    "no-such-container": (
        NoSuchContainer,
        "cannot enter {ct}: there is no such container; create it, or correct pct_vmid",
    ),
    "other-node": (
        OnAnotherNode,
        "cannot enter {ct}: it is on node {at}; set pct_host to that node",
    ),
    "virtual-machine": (
        NoSuchContainer,
        "cannot enter {ct}: it is a virtual machine (on {at}); give the VMID of a container",
    ),
    "stopped": (Stopped, "cannot enter {ct}: it is stopped; start it with pct start {vmid}"),
    "frozen": (
        Frozen,
        "cannot enter {ct}: it is frozen, as for a backup or a snapshot; wait for that, "
        "or thaw it with lxc-unfreeze -n {vmid}",
    ),
    "cluster-fs-down": (
        ClusterFsDown,
        "cannot enter {ct}: /etc/pve of {node} is not mounted; see systemctl status pve-cluster",
    ),
    "cannot-enter": (
        CannotEnter,
        "cannot enter {ct}: {because}; try pct exec {vmid} -- true on the node",
    ),
    "busy": (
        Busy,
        "cannot change {ct}: busy, {who} works on it since {since}; wait for it, "
        "or end its process {pid} on {node}",
    ),
    "timed-out": (
        TimedOut,
        "cannot finish the command in {ct}: it took longer than {timeout} s and {left}",
    ),
    "lost": (
        Lost,
        "cannot tell how the command in {ct} ended: its shell went away{left}; "
        "look at what it did before running it again",
    ),
}


def from_answer(answer: dict[str, Any], node: str, vmid: int | None, timeout: Any) -> PctError:
    """The error that the agent's answer means, in words."""
    known, words = _SENTENCES.get(answer["error"], (PctError, "cannot run it in {ct}: {error}"))
    ct = node if vmid is None else f"CT {vmid} of {node}"
    left = _left(answer["error"], answer.get("left", []), node)
    facts = {**answer, "node": node, "vmid": vmid, "ct": ct, "timeout": timeout, "left": left}
    return known(words.format(**facts))


def _left(error: str, rows: list[dict[str, Any]], node: str) -> str:
    named = ", ".join(f"{row['pid']} ({row['name']}, state {row['state']})" for row in rows)
    if error == "lost":
        return f", and of it still run on {node}: {named}" if rows else ""
    if rows:
        return f"KILL did not end, as seen on {node}: {named}; state D waits for the kernel"
    return "was killed; give it a longer _timeout if it needs more"
