"""The container itself, made or adopted on its node, and running."""

from pyinfra import host
from pyinfra.api import deploy

from stoker.operations import container as operations
from stoker.operations.container import declared


@deploy("Container")
def container() -> None:
    """From host data `container`, `container_defaults`, `proxmox`; without `container` nobody
    touches it."""
    found = declared.managed(host)
    if found:
        wanted, way = found
        operations.present(name="Make the container what is declared", wanted=wanted, access=way)
