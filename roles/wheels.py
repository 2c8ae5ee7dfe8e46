"""The node's wheel store: fetched once, seen read-only by the node's containers."""

from pathlib import Path

from pyinfra import host, inventory
from pyinfra.api import deploy
from pyinfra.api.host import Host

from stoker.operations import barrier, containers
from stoker.operations import wheels as operations
from stoker.operations.container import declared
from stoker.serving import selection, tools
from stoker.serving.lock import Release

SITE = Path()


@deploy("Wheels")
def wheels() -> None:
    """Called for every host: what the node does here is done before any container goes on, and
    after every container is there."""
    barrier.reached(name="Wait for the containers")
    if "pve" in host.groups:
        wanted = _wanted()
        operations.present(
            name="Fetch the wheels that this node's containers need",
            releases=wanted,
            pip=tools.load(SITE / "locks" / "tools.yaml")["pip"],
            index=host.data.get("wheel_index"),
        )
        vmids = [_protection(inventory.get_host(name)) for name in wanted]
        operations.mounted(
            name="Mount the wheels into the containers",
            vmids=[vmid for vmid, _ in vmids],
            protected=[vmid for vmid, is_protected in vmids if is_protected],
        )
    barrier.reached(name="Wait for the wheels")


def _protection(container: Host) -> tuple[int, bool]:
    """Its VMID, and whether its data declare it protected."""
    wanted = declared.wanted(container)
    return container.data.pct_vmid, bool(wanted and wanted.protection)


def _wanted() -> dict[str, list[Release]]:
    """The containers of this node that are in the run, and what is to be installed there."""
    return {
        container.name: selection.releases(SITE, container.data.flagsets)
        for container in containers.within_limit(containers.of(host))
        if container.data.get("flagsets")
    }
