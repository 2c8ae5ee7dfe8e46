"""How containers of one node are changed, whichever way is taken there."""

from collections.abc import Mapping, Sequence
from typing import Protocol

CREATE_S = 1800.0
"""Seconds to wait for a template to be unpacked, on slow storage."""
START_S = 180.0
VOLUME_S = 900.0
"""Seconds for growing a volume and for a snapshot."""
SET_S = 60.0
"""Seconds for a change of keys, over ssh; Proxmox waits 10 for the lock file."""
HA_S = 180.0
"""Seconds that the HA manager may take: it looks every 10, and then the guest has to act."""

Warnings = tuple[str, ...]
"""Lines that Proxmox warned with although it succeeded; for the caller to tell."""


class Backend(Protocol):
    """Changes to containers of one node. Every method returns when the work is done: a task is
    awaited to its `exitstatus`. Raises `stoker.proxmox.errors`."""

    @property
    def name(self) -> str:
        """`ssh`, `token` or `ticket`, for sentences."""

    @property
    def is_root(self) -> bool:
        """Whether it may set what Proxmox keeps for root@pam: `devN`, bind mounts, hook scripts and
        features other than nesting. A root@pam token may not. Where False, `create` and `set` take
        these all the same and do them by `pct` on the node."""

    def create(self, vmid: int, options: Mapping[str, str]) -> Warnings:
        """Make it from `ostemplate`, without starting it. Options as `pct create` has them.

        `AlreadyExists` if the VMID is taken. Cut off, it leaves a container with `lock: create`,
        which everything else here meets as `Locked`.
        """

    def set(
        self,
        vmid: int,
        options: Mapping[str, str],
        delete: Sequence[str] = (),
        digest: str = "",
        revert: Sequence[str] = (),
    ) -> Warnings:
        """Change keys. `revert`: keys whose pending change is taken back; not with the same key in
        `options` or `delete`. `digest`: of the configuration as it was read; `Changed` if it is
        another now."""

    def resize(self, vmid: int, disk: str, size: str) -> Warnings:
        """Grow a volume (`rootfs`, `64G`); Proxmox never shrinks one."""

    def start(self, vmid: int) -> Warnings:
        """Start it. Back when it runs, which is before its own init is ready. Fine if it runs."""

    def shutdown(self, vmid: int, timeout_s: int, force: bool) -> Warnings:
        """Ask its init to end; `force`: kill it when that takes longer. Fine if it does not run."""

    def snapshot(self, vmid: int, name: str, description: str) -> Warnings:
        """Take a snapshot."""

    def delete_snapshot(self, vmid: int, name: str) -> Warnings:
        """Remove one."""
