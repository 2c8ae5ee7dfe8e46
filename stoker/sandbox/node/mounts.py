"""Stand-in: `mpN` entries that bind a directory (or file) of the node into a container."""

from __future__ import annotations

import os
import re
from typing import List, Mapping, NamedTuple

from . import property_string, volumes
from .died import Died


class MountPoint(NamedTuple):
    """One mount point: the node's path, the container's path, and whether it is read-only."""

    key: str
    source: str
    target: str
    read_only: bool


def resolve(key: str, value: str, vmid: int) -> MountPoint:
    """The mount point of one `mpN` value; a volume is a directory beside the root file system."""
    fields = property_string.parse(value, property_string.MOUNT_POINT)
    source = fields["volume"]
    if not source.startswith("/"):
        source = f"{volumes.LXC_PATH}/{vmid}/{os.path.basename(source.partition(':')[2])}"
    read_only = property_string.truth(fields.get("ro"))
    return MountPoint(key, source, fields["mp"], read_only)


def all_of(keys: Mapping[str, str], vmid: int) -> List[MountPoint]:
    """Every mount point of a configuration, in the order of its numbers."""
    names = [name for name in keys if re.fullmatch(r"mp\d+", name)]
    return [resolve(name, keys[name], vmid) for name in sorted(names, key=lambda n: int(n[2:]))]


def require_sources(keys: Mapping[str, str], vmid: int) -> None:
    """Die where a directory to be mounted is not there: that ends a creation."""
    for point in all_of(keys, vmid):
        if not os.path.exists(point.source):
            raise Died(f"directory '{point.source}' does not exist")


def make_target(path: str, directory: bool) -> int:
    """Make a mount point in the root this process has; 0, or a file's errno as the exit code."""
    parent = path if directory else os.path.dirname(path)
    os.makedirs(parent, exist_ok=True)
    if not directory:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    return 0
