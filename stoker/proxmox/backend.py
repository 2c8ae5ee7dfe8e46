"""How containers of one node are changed, whichever way is taken there."""

from collections.abc import Mapping, Sequence
from typing import Protocol


class Backend(Protocol):
    """Changes to containers of one node. Every method returns when the work is done: a task is
    awaited to its `exitstatus`. Raises `stoker.proxmox.errors`."""

    @property
    def name(self) -> str:
        """`ssh`, `token` or `ticket`, for sentences."""

    @property
    def is_root(self) -> bool:
        """Whether it may set what Proxmox keeps for root@pam: `devN`, bind mounts, hook scripts and
        features other than nesting. A root@pam token may not."""

    def create(self, vmid: int, options: Mapping[str, str]) -> None:
        """Make it from `ostemplate`, without starting it. Options as `pct create` has them."""

    def set(
        self,
        vmid: int,
        options: Mapping[str, str],
        delete: Sequence[str] = (),
        digest: str = "",
        revert: Sequence[str] = (),
    ) -> None:
        """Change keys. `revert`: keys whose pending change is taken back; not with the same key in
        `options` or `delete`. `digest`: of the configuration as it was read; `Changed` if it is
        another now."""

    def resize(self, vmid: int, disk: str, size: str) -> None:
        """Grow a volume (`rootfs`, `64G`); Proxmox never shrinks one."""

    def start(self, vmid: int) -> None:
        """Start it. Back when it runs, which is before its own init is ready."""

    def shutdown(self, vmid: int, timeout_s: int, force: bool) -> None:
        """Ask its init to end; `force`: kill it when that takes longer."""

    def snapshot(self, vmid: int, name: str, description: str) -> None:
        """Take a snapshot."""

    def delete_snapshot(self, vmid: int, name: str) -> None:
        """Remove one."""
