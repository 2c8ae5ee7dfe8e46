"""The container itself, made or adopted on its node, and running."""

from pyinfra import host
from pyinfra.api import DeployError, deploy

from stoker.container.wanted import Wanted
from stoker.operations import container as operations
from stoker.operations.container import access
from stoker.refused import Refused


@deploy("Container")
def container() -> None:
    """From host data `container`, `container_defaults`, `proxmox`; without `container` nobody
    touches it."""
    said = host.data.get("container")
    if said is None:
        return
    try:
        wanted = Wanted.of(said, host.data.get("container_defaults"))
        way = access.of(host)
    except Refused as error:
        raise DeployError(str(error)) from error
    operations.present(name="Make the container what is declared", wanted=wanted, access=way)
