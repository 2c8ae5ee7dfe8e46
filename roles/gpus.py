"""A container's GPUs, proved before anything long is built on them: the service user opens each."""

from pyinfra import host
from pyinfra.api import DeployError, deploy

from stoker.container.wanted import Wanted
from stoker.operations import gpus as operations
from stoker.operations.container import access
from stoker.refused import Refused


@deploy("GPUs")
def gpus() -> None:
    """From the container's data `container`; nothing is opened where it names no GPUs."""
    said = host.data.get("container")
    if said is None:
        return
    try:
        wanted = Wanted.of(said, host.data.get("container_defaults"))
        way = access.of(host)
    except Refused as error:
        raise DeployError(str(error)) from error
    if wanted.gpus:
        operations.usable(
            name="Open the GPUs as the service user",
            wanted=wanted,
            account=host.data.get("service_user", "sglang"),
            access=way,
        )
