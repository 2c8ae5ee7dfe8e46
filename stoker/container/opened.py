"""What came of opening a container's GPU nodes inside it, as root and as the service's user."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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


class Cause(NamedTuple):
    """What is wrong with a path and what to do."""

    what: str
    remedy: str
    by_restart: bool = False
    """A restart of the container brings it right."""


def paths(cards: Sequence[Card]) -> tuple[str, ...]:
    """The nodes that a server with these GPUs opens."""
    return (*(card.node for card in cards), CONTROL, UVM, UVM_TOOLS) if cards else ()


def problems(
    vmid: int,
    user: str,
    found: Sequence[Opened],
    numbers: Mapping[str, tuple[int, int]],
    brought: Collection[str],
) -> tuple[str, ...]:
    """A sentence for each cause, with all the paths that have it and what to do.

    `numbers`: of the node's device nodes today, by path. `brought`: those of them that a restart
    brings.
    """
    by_cause: dict[Cause, list[str]] = {}
    for one in found:
        number = numbers.get(one.path)
        if cause := _cause(vmid, user, one, number, one.path in brought):
            by_cause.setdefault(cause, []).append(one.path)
    return tuple(
        f"cannot use {', '.join(names)} in CT {vmid}: {cause.what}; {cause.remedy}"
        for cause, names in by_cause.items()
    )


def by_restart(
    found: Sequence[Opened], numbers: Mapping[str, tuple[int, int]], brought: Collection[str]
) -> tuple[str, ...]:
    """The paths with a problem, if a restart of the container brings every one of them right."""
    causes = {
        one.path: _cause(0, "", one, numbers.get(one.path), one.path in brought) for one in found
    }
    wrong = {path: cause for path, cause in causes.items() if cause}
    return tuple(wrong) if all(cause.by_restart for cause in wrong.values()) else ()


def _cause(
    vmid: int, user: str, one: Opened, number: tuple[int, int] | None, brought: bool
) -> Cause | None:
    """None: nothing is wrong."""
    restart = f"say allow_restart: True, or restart the container: pct reboot {vmid}"
    if not brought:
        restart = (
            "a restart does not bring it as things are; look at what passes it, "
            f"pct config {vmid}, and at ls -l /dev/nvidia* on the node"
        )
    if not one.kind:
        return Cause("it is not there", restart, by_restart=brought)
    if one.kind == "file":
        return Cause(
            "a regular file is in place of the device, which an optional raw mount leaves where "
            "the node had no device as the container started",
            f"say migrate_raw: True if it has one; {restart}",
            by_restart=brought,
        )
    if one.kind != "device":
        away = f"take it away in the container, then restart it: pct reboot {vmid}"
        return Cause("it is no device", away)
    if number is not None and one.number is not None and one.number != number:
        return Cause(
            f"it has the number of an earlier load of the driver ({_numbers(one.number, number)})",
            restart,
            by_restart=brought,
        )
    return Cause(*_refusal(vmid, user, one)) if one.root or one.user else None


def _numbers(was: tuple[int, int], today: tuple[int, int]) -> str:
    """Majors; a minor too where it alone differs."""
    if was[0] != today[0]:
        return f"{was[0]}, today it is {today[0]}"
    return f"{was[0]}:{was[1]}, today it is {today[0]}:{today[1]}"


def _refusal(vmid: int, user: str, one: Opened) -> tuple[str, str]:
    """What is wrong and what to do."""
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
