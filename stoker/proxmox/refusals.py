"""What Proxmox's words mean. The API and `pct` use the same ones: they are raised in the same Perl.

Numbers say little: an unknown container is 500 in the API, and `pct` ends with whatever errno was
left. So it is the text that decides. The texts were recorded on a real node (pve-container 6.1.10).
"""

import re
from dataclasses import dataclass

from stoker.proxmox.errors import (
    AlreadyExists,
    AlreadySo,
    Changed,
    Forbidden,
    Locked,
    NodeOffline,
    NoQuorum,
    NoSuchContainer,
    ProxmoxError,
    Rejected,
    TaskUnknown,
)

NOTHING = "nothing was changed"
MAYBE = "whether it was done is not known: look at the node's tasks"
UNSAID = "whether anything was changed it does not say"
"""Of words that no row knows. Proxmox raises some after it saved."""


@dataclass(frozen=True)
class Row:
    """Words of Proxmox, what they mean and what to do. `{0}` is the pattern's first group, or what
    it found."""

    pattern: str
    error: type[ProxmoxError]
    what: str
    do: str
    so_far: str = ""
    """What has been changed, where that is not what the caller knows."""


ROWS = (
    Row(
        r"CT is locked \(([^)]+)\)",
        Locked,
        "it is locked ({0})",
        "wait for that job, or see pct unlock where it was cut off",
    ),
    Row(
        r"can't lock file '([^']+)'",
        Locked,
        "another task holds {0}",
        "wait for it and run again",
    ),
    Row(
        r"detected modified configuration|checksum mismatch",
        Changed,
        "somebody changed its configuration since it was read",
        "run again, which looks again",
    ),
    Row(
        r"no quorum|cluster not ready|/etc/pve/\S+.*(?:Permission denied|Read-only file system)",
        NoQuorum,
        "the cluster has no quorum, so nothing can be written",
        "see pvecm status on a node",
    ),
    Row(
        r"Configuration file '([^']+)' does not exist",
        NoSuchContainer,
        "there is no {0}",
        "correct the VMID or the node",
    ),
    Row(
        r"(?:CT|VM) \d+ already exists(?: on node '[^']+')?",
        AlreadyExists,
        "{0}",
        "give another VMID",
    ),
    Row(
        r"(?:CT|VM) \d+ (?:already|not) running|container '\d+' not running"
        r"|disk is already at specified size",
        AlreadySo,
        "{0}",
        "nothing is to be done",
    ),
    Row(
        r"hostname lookup '([^']+)' failed",
        NodeOffline,
        "no node {0} is known there",
        "correct the node's name",
    ),
    Row(
        r"Permission check failed \((.+)\)",
        Forbidden,
        "a privilege is missing: {0}",
        "give it (docs/proxmox.md)",
    ),
    Row(
        r"Permission check failed|only root can .*|Only root can .*",
        Forbidden,
        "a privilege is missing: {0}",
        "give it (docs/proxmox.md)",
    ),
    Row(
        r"ipcc_send_rec\[\d+\] failed: Unknown error|Unable to load access control list",
        Forbidden,
        "pct was not run as root",
        "connect to the node as root (ssh_user)",
    ),
    Row(
        r"ipcc_send_rec\[\d+\] failed|Transport endpoint is not connected",
        ProxmoxError,
        "the cluster file system of the node is down ({0})",
        "see systemctl status pve-cluster there",
    ),
    Row(
        r"(?s)((?:unable to hotplug|hotplug problem) .+)",
        Rejected,
        "Proxmox could not change that while it runs ({0})",
        "stop it first",
        "see pct pending whether it is noted",
    ),
    Row(
        r"Device (\S+) does not exist",
        Rejected,
        "the node has no {0}, which it passes or should",
        "see that the node has it",
        # Looked for of a new key before, and of all keys after the change was saved.
        "see pct config whether the change was saved",
    ),
    Row(
        r"(?s)400 (?:Parameter verification failed|unable to parse option|not enough arguments).*"
        r"|Unknown option: .*",
        Rejected,
        "Proxmox says: {0}",
        "correct that",
    ),
    Row(
        r"no such task|unable to parse worker upid.*",
        Rejected,
        "{0}",
        "look at the node's tasks",
    ),
    Row(
        r"(?:storage|volume|snapshot|pool|bridge|script) '[^']+' (?:does not exist|is not online"
        r"|is not available.*|is disabled)|no options specified"
        r"|unable to (?:modify|delete) (?:read-only|required) option.*|unable to shrink disk size"
        r"|snapshot name '[^']+' already used"
        r"|snapshot feature is not available",
        Rejected,
        "{0}",
        "correct that",
    ),
)


def error(
    said: str,
    asked: str,
    otherwise: type[ProxmoxError] = ProxmoxError,
    so_far: str = NOTHING,
    wrote: bool = False,
) -> ProxmoxError:
    """What Proxmox said as an error of ours: `cannot {asked}: ...`.

    `otherwise`: the class of what no row knows. `so_far`: what has been changed by then. `wrote`:
    a change was asked for, so that nothing is claimed of what no row knows.
    """
    for row in ROWS:
        if found := re.search(row.pattern, said):
            what = one_line(found[1] if found.lastindex else found[0])
            return row.error(
                f"cannot {asked}: {row.what.format(what)}; {row.do}; {row.so_far or so_far}"
            )
    do = "correct that; " if otherwise is Rejected else ""
    if wrote and so_far == NOTHING and otherwise is ProxmoxError:
        so_far = UNSAID
    return otherwise(f"cannot {asked}: Proxmox says: {one_line(said) or 'nothing'}; {do}{so_far}")


def unknown(asked: str, why: str) -> TaskUnknown:
    """Something was asked for, and how it ended is not known."""
    return TaskUnknown(f"cannot {asked} for certain: {why}")


def one_line(text: str) -> str:
    """At most 500 characters of it, white space joined, without what would move a cursor."""
    joined = " ".join(text.split())[:500]
    return "".join(c if c.isprintable() else "\N{MIDDLE DOT}" for c in joined)
