"""Stand-in: the versions this node claims: those the transcripts were taken from.

That of pve-container is a setting, since what `devN` can do depends on it; it is read each time.
"""

from __future__ import annotations

import re
from typing import Dict, Tuple

# Of pve-manager, by the first number of pve-container's version.
MANAGERS = {"6": "9.2.11", "5": "8.4.14", "4": "7.4.20"}
REPOSITORY = "a1b2c3d4e5f60718"
CONTAINER = "6.1.10"
SETTING = "/usr/lib/stoker-sandbox/pve-container.version"
PACKAGES = {
    "proxmox-ve": "9.2.0",
    "libpve-common-perl": "9.2.1",
    "lxc-pve": "6.0.5-1",
    "pve-cluster": "9.1.6",
    "pve-container": CONTAINER,
}


def container() -> str:
    """The claimed version of pve-container."""
    try:
        with open(SETTING) as file:
            return file.read().strip() or CONTAINER
    except FileNotFoundError:
        return CONTAINER


def manager() -> str:
    """The version of Proxmox itself that goes with it, `9.2.11`."""
    return MANAGERS.get(container().split(".")[0], MANAGERS["6"])


def release() -> str:
    """Its first two numbers."""
    return ".".join(manager().split(".")[:2])


def packages() -> Dict[str, str]:
    """Every package with its version."""
    return {**PACKAGES, "pve-manager": manager(), "pve-container": container()}


def _at_least(*wanted: int) -> bool:
    found: Tuple[int, ...] = tuple(map(int, re.findall(r"\d+", container().split("~")[0])))
    return found >= wanted


def has_devices() -> bool:
    """Whether `devN` is an option: since 5.0.7 (git ce1976b)."""
    return _at_least(5, 0, 7)


def plugs_devices() -> bool:
    """Whether a new `devN` reaches a running container: since 6.0.4 (git c702167)."""
    return _at_least(6, 0, 4)


def creates_unprivileged() -> bool:
    """Whether a container is unprivileged where nothing is said: since 6.0.6 (its changelog)."""
    return _at_least(6, 0, 6)
