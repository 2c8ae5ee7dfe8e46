"""How a container is to be passed its GPUs: by `devN`, or by the raw lines that it has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from stoker.container import raw_lines
from stoker.container.devices import Device
from stoker.container.raw_lines import Found, Numbering
from stoker.container.version import Version
from stoker.health import passed
from stoker.refused import Refused


@dataclass(frozen=True)
class Passing:
    """What is to be done."""

    devices: tuple[Device, ...]
    """To be `devN`: what `difference.between` wants."""
    told: tuple[str, ...] = ()
    """What is left as it is, a sentence each."""
    migrate: bool = False
    """First the raw lines go, and these devices come, in one write: `raw_lines.migrated`. The
    container must be stopped, or be restarted after."""
    unusable: tuple[str, ...] = ()
    """Paths that raw lines mount and that it cannot use before that."""


def decided(
    vmid: int,
    devices: Sequence[Device],
    text: str,
    version: Version,
    node: Numbering,
    migrate: bool = False,
) -> Passing:
    """How CT `vmid`, whose configuration file is `text`, gets these devices.

    Raises Refused with what to do where it cannot: no `devN` on this node (Proxmox VE 7 and 8.0)
    and no raw lines that work today, or raw lines that do not work and are not to be migrated.
    """
    raw = raw_lines.found(text, node)
    if migrate and raw.lines and version.has_devices:
        unusable = tuple(path for path in raw.paths if path not in raw.effective)
        return Passing(tuple(devices), raw.doubtful, migrate=True, unusable=unusable)
    left = tuple(device for device in devices if device.path not in raw.paths)
    broken = [d.path for d in devices if d.path in raw.paths and d.path not in raw.effective]
    if (left or broken) and not version.has_devices:
        raise Refused(_no_devices(vmid, devices, version, node))
    if broken:
        raise Refused(_broken(vmid, broken, raw, node))
    return Passing(left, tuple(_told(devices, raw, version, migrate)))


def brought(text: str, node: Numbering) -> frozenset[str]:
    """The node's device nodes of today that a start brings into the container with this
    configuration file: by `devN`, or by raw lines that let it use them."""
    keyed = {device.path for device in passed.parse(text).devices}
    return frozenset(keyed & node.numbers.keys()) | raw_lines.found(text, node).effective


def require_devices(vmid: int, devices: Sequence[Device], version: Version) -> None:
    """Raises Refused for a new container that is to have GPUs on a node without `devN`."""
    if devices and not version.has_devices:
        raise Refused(
            f"cannot pass GPUs to the new CT {vmid}: pve-container of its node is "
            f"{version}, and devN came with 5.0.7 (Proxmox VE 8.1); upgrade the "
            "node, or make the container without gpus first and run again, which tells the lines "
            "to write"
        )


def _no_devices(vmid: int, devices: Sequence[Device], version: Version, node: Numbering) -> str:
    lines = "".join(f"\n  {line}" for line in raw_lines.lines_for(devices, node))
    return (
        f"cannot pass the GPUs to CT {vmid}: pve-container {version} of its node has no devN; "
        "upgrade the node to Proxmox VE 8.1 or later, or write these lines, with the numbers of "
        f"today, above the first [section] of /etc/pve/lxc/{vmid}.conf and restart it:{lines}"
    )


def _broken(vmid: int, broken: Collection[str], raw: Found, node: Numbering) -> str:
    lines = "; ".join(raw.stale) or "; ".join(raw.lines)
    numbers = [f"{path} is {_number(path, node)} today" for path in broken]
    return (
        f"cannot pass the GPUs to CT {vmid}: its raw lines do not let it use {', '.join(broken)} "
        f"({', '.join(numbers)}): {lines}; say migrate_raw: True, which writes devN in their place "
        "and needs a restart"
    )


def _number(path: str, node: Numbering) -> str:
    return ":".join(map(str, node.numbers[path])) if path in node.numbers else "no device"


def _told(devices: Sequence[Device], raw: Found, version: Version, migrate: bool) -> Iterator[str]:
    wanted = {device.path for device in devices}
    used = [path for path in raw.paths if path in raw.effective]
    if any(path in wanted for path in used):
        more = "migrate_raw: True writes devN in their place"
        if migrate:
            more = f"they stay, since pve-container {version} has no devN to replace them"
        yield (
            f"raw lines pass {', '.join(path for path in used if path in wanted)}, with numbers "
            f"that another kernel or driver may deal out anew; {more}"
        )
    if extra := [path for path in used if path not in wanted]:
        yield f"raw lines pass {', '.join(extra)} too, which is not asked for"
    yield from raw.doubtful
