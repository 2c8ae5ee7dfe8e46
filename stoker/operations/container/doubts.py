"""What an error leaves open: whether that which was asked for is done all the same."""

from stoker.operations.container.planning import Plan
from stoker.proxmox.errors import Changed, Locked, NodeOffline, ProxmoxError, TaskUnknown


def may_be_done(act: str, error: ProxmoxError) -> bool:
    """Whether to look again before an error of this act is believed.

    An answer may be lost while Proxmox goes on. And it looks for the nodes of every `devN` after it
    has saved a change, so that the lack of one is told of a change that holds.
    """
    if isinstance(error, TaskUnknown | NodeOffline):
        return True
    return act == "_set" and not isinstance(error, Changed | Locked)


def how_far(found: Plan, same_act: bool) -> str:
    """Of what an error leaves open, by a new look; `same_act`: more of it is due."""
    if found.busy:
        return "it is under way"
    return "some of it is done" if same_act else "it is done"


def full(vmid: int, disk: str) -> str:
    """Of a volume that Proxmox would grow and that has its size on its storage."""
    return (
        f"CT {vmid}: {disk} has that size on its storage, and its configuration says less; "
        f"pct rescan --vmid {vmid} corrects that"
    )


def unsettled(found: Plan) -> str:
    """Of an act without an error that is due again."""
    changes = found.difference.changes or found.later
    if not changes and not found.running:
        return (
            f"cannot keep CT {found.vmid} running: it ended right after its start; see "
            f"journalctl -u pve-container@{found.vmid} on its node"
        )
    keys = ", ".join(change.key for change in changes) or "it"
    return (
        f"cannot bring CT {found.vmid} to what is declared: {keys} reads as before after it was "
        f"set; see pct config {found.vmid} and pct pending {found.vmid} there, and report this"
    )
