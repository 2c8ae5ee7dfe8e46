"""Stand-in: `netN` entries."""

from __future__ import annotations

import hashlib
import os
import re
from typing import Dict, List, Mapping, Tuple

from . import property_string
from .died import Died


def all_of(keys: Mapping[str, str]) -> List[Tuple[int, Dict[str, str]]]:
    """(number, fields) of every network interface, in order."""
    names = sorted((int(name[3:]), name) for name in keys if re.fullmatch(r"net\d+", name))
    return [(n, property_string.parse(keys[name], property_string.NETWORK)) for n, name in names]


def completed(value: str, vmid: int, key: str) -> str:
    """The stored value for what was asked: with a hardware address and the type."""
    fields = property_string.parse(value, property_string.NETWORK)
    fields.setdefault("hwaddr", _hardware_address(f"{os.uname().nodename}/{vmid}/{key}"))
    fields.setdefault("type", "veth")
    return property_string.render(fields, property_string.NETWORK)


def _hardware_address(seed: str) -> str:
    # BC:24:11 is Proxmox's own prefix.
    digest = hashlib.sha1(seed.encode()).hexdigest().upper()
    return "BC:24:11:" + ":".join(digest[n : n + 2] for n in (0, 2, 4))


def require_bridges(keys: Mapping[str, str]) -> None:
    """Die where an interface names a bridge that the node does not have."""
    for _number, fields in all_of(keys):
        bridge = fields.get("bridge")
        if bridge and not os.path.isdir(f"/sys/class/net/{bridge}"):
            raise Died(f"bridge '{bridge}' does not exist")
