"""What the inventory declares of a container."""

from pyinfra.api import DeployError
from pyinfra.api.host import Host

from stoker.container.wanted import Wanted
from stoker.operations.container import access
from stoker.proxmox.access import Access
from stoker.refused import Refused


def wanted(container: Host) -> Wanted | None:
    """The data `container` over `container_defaults`; None: nobody manages it. Raises
    DeployError."""
    said = container.data.get("container")
    if said is None:
        return None
    try:
        return Wanted.of(said, container.data.get("container_defaults"))
    except Refused as error:
        raise DeployError(str(error)) from error


def managed(container: Host) -> tuple[Wanted, Access] | None:
    """The same, with how its node's Proxmox is talked to. Raises DeployError."""
    found = wanted(container)
    if found is None:
        return None
    try:
        return found, access.of(container)
    except Refused as error:
        raise DeployError(str(error)) from error
