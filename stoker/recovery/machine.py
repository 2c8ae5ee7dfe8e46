"""Where a node shows itself: the kernel's trees, Proxmox's configuration, our own folders."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

STAND_IN = "/var/lib/stoker-gpu"
"""Where the sandbox keeps GPUs that do not exist. A real node has no such folder."""


@dataclass(frozen=True)
class Machine:
    """Folders of one node; the defaults are those of a real one."""

    proc: str = "/proc"
    sys: str = "/sys"
    dev: str = "/dev"
    cgroup: str = "/sys/fs/cgroup"
    pve: str = "/etc/pve"
    run: str = "/run/stoker"
    """What is true until the next boot."""
    locks: str = "/run/lock/stoker"
    state: str = "/var/lib/stoker"
    """What outlives a boot."""
    driver: str = ""
    """Prefix of the driver's own files; empty on a real node."""
    stand_in: bool = False
    """Whether the driver is the sandbox's: then device numbers are told by `nodes.json`."""

    @classmethod
    def here(cls) -> Machine:
        """This machine. The stand-in is used only where it says so and no driver is loaded."""
        return cls.told_by("")

    @classmethod
    def told_by(cls, root: str) -> Machine:
        """As `here`, of the file system below `root`."""
        if not _is_stand_in(root):
            return cls()
        return cls(driver=f"{root}{STAND_IN}/kernel", stand_in=True)

    def of_driver(self, path: str) -> str:
        """A file of the driver, such as `/proc/devices`."""
        return self.driver + path


def _is_stand_in(root: str) -> bool:
    for real in ("/sys/module/nvidia", "/proc/driver/nvidia"):
        if os.path.lexists(root + real):
            return False
    try:
        with open(f"{root}{STAND_IN}/state.json", encoding="utf-8") as stream:
            state = json.load(stream)
    except (OSError, ValueError):
        return False
    return isinstance(state, dict) and "stand_in" in state
