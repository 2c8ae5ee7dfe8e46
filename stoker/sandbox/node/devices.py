"""Stand-in: `devN` entries: what the node's device is now, and its private copy for a container."""

from __future__ import annotations

import os
import re
import stat
from typing import Dict, List, Mapping, NamedTuple

from . import mapped, property_string
from .died import Died


class Device(NamedTuple):
    """One passed-through device: its path in both places, numbers as stat gave them, rights."""

    key: str
    path: str
    kind: str
    major: int
    minor: int
    mode: int
    uid: int
    gid: int
    deny_write: bool

    @property
    def rule(self) -> str:
        """The device in a cgroup rule's words, without the access."""
        return f"{self.kind} {self.major}:{self.minor}"


def resolve(key: str, value: str, shift: int) -> Device:
    """The device of one `devN` value, its major and minor read from the node at this moment."""
    fields = property_string.parse(value, property_string.DEVICE)
    path = fields["path"]
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise Died(f"Device {path} does not exist") from None
    if not (stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)):
        raise Died(f"{path} is not a device")
    return Device(
        key,
        path,
        "b" if stat.S_ISBLK(status.st_mode) else "c",
        os.major(status.st_rdev),
        os.minor(status.st_rdev),
        int(fields.get("mode", "0660"), 8),
        shift + int(fields.get("uid", "0")),
        shift + int(fields.get("gid", "0")),
        property_string.truth(fields.get("deny-write")),
    )


def all_of(keys: Mapping[str, str]) -> List[Device]:
    """Every device of a configuration, in the order of its numbers."""
    found: Dict[int, str] = {}
    for name in keys:
        match = re.fullmatch(r"dev(\d+)", name)
        if match:
            found[int(match.group(1))] = name
    shift = mapped.shift_of(keys)
    return [resolve(found[n], keys[found[n]], shift) for n in sorted(found)]


def make_node(device: Device, directory: str) -> str:
    """Make the private node beneath a directory of the node, and give its path."""
    path = directory + device.path
    os.makedirs(os.path.dirname(path), exist_ok=True)
    kind = stat.S_IFBLK if device.kind == "b" else stat.S_IFCHR
    os.mknod(path, kind | 0o600, os.makedev(device.major, device.minor))
    os.chown(path, device.uid, device.gid)
    os.chmod(path, device.mode)
    return path
