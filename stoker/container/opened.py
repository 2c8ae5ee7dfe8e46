"""What came of opening a container's GPU nodes inside it, as root and as the service's user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stoker.container.devices import CONTROL, UVM, UVM_TOOLS, Card

NO_ACCESS = "Permission denied"
NOT_ALLOWED = "Operation not permitted"
NO_DRIVER = ("No such device or address", "No such device")
BROKEN = "Input/output error"
HUNG = "no end"
NO_USER = "no such user"
NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Opened:
    """One path in a container."""

    path: str
    kind: str = ""
    """`device` (of characters), `file`, `other`; empty: it is not there."""
    number: tuple[int, int] | None = None
    rights: str = ""
    """Mode and owner, `660 root:root`."""
    root: str = ""
    """Why root could not open it, as the C library says it; empty: it could."""
    user: str = ""
    """Why the service's user could not."""


def paths(cards: Sequence[Card]) -> tuple[str, ...]:
    """The nodes that a server with these GPUs opens."""
    return (*(card.node for card in cards), CONTROL, UVM, UVM_TOOLS) if cards else ()


def problems(
    vmid: int, user: str, found: Sequence[Opened], numbers: Mapping[str, tuple[int, int]]
) -> tuple[str, ...]:
    """A sentence for each cause, with all the paths that have it and what to do.

    `numbers`: of the node's device nodes today, by path.
    """
    by_cause: dict[tuple[str, str], list[str]] = {}
    for one in found:
        if cause := _cause(vmid, user, one, numbers.get(one.path)):
            by_cause.setdefault(cause, []).append(one.path)
    return tuple(
        f"cannot use {', '.join(names)} in CT {vmid}: {what}; {remedy}"
        for (what, remedy), names in by_cause.items()
    )


def _cause(
    vmid: int, user: str, one: Opened, number: tuple[int, int] | None
) -> tuple[str, str] | None:
    """What is wrong with it and what to do; None: nothing."""
    restart = f"restart the container: pct reboot {vmid}"
    if not one.kind:
        return "it is not there", f"{restart}, and look at its devN lines: pct config {vmid}"
    if one.kind == "file":
        return (
            "a regular file is in place of the device, which an optional raw mount leaves where "
            "the node had no device as the container started",
            f"say migrate_raw: True, or {restart}",
        )
    if one.kind != "device":
        return "it is no device", f"take it away in the container, then {restart}"
    if number is not None and one.number is not None and one.number != number:
        return (
            f"it has the number of an earlier load of the driver ({one.number[0]}, today it is "
            f"{number[0]})",
            restart,
        )
    return _refusal(vmid, user, one) if one.root or one.user else None


def _refusal(vmid: int, user: str, one: Opened) -> tuple[str, str]:
    said = one.root or one.user
    if said == HUNG:
        return (
            "opening it does not end, the driver hangs",
            "recover it from the node: pyinfra INVENTORY recover.py",
        )
    if said == NO_USER:
        return f"there is no user {user}", "run deploy.py for all of the container"
    if said in NO_DRIVER:
        return (
            f"the driver has nothing behind it ({said})",
            "see nvidia-smi and dmesg | grep NVRM on the node",
        )
    if said == BROKEN:
        return (
            f"the driver cannot start the GPU ({said})",
            "see dmesg | grep -E 'NVRM|Xid' on the node, and pyinfra --dry INVENTORY recover.py",
        )
    if said == NOT_ALLOWED and one.root:
        return (
            f"the container's device rules do not allow it ({said})",
            f"pass it by devN and restart the container: pct reboot {vmid}",
        )
    if said == NO_ACCESS and not one.root:
        return (
            f"the user {user} may not open it ({said}), it is {one.rights}",
            'say device_mode: "0666", or device_gid with a group of that user',
        )
    who = "root" if one.root else f"the user {user}"
    return f"{who} cannot open it ({said})", "see dmesg on the node"
