"""A container's GPUs, proved before anything long is built on them: the service user opens each."""

from pyinfra import host
from pyinfra.api import deploy

from stoker.operations import gpus as operations
from stoker.operations.container import declared


@deploy("GPUs")
def gpus() -> None:
    """From the container's data `container`; nothing is opened where it names no GPUs."""
    found = declared.managed(host)
    if found and found[0].gpus:
        wanted, way = found
        operations.usable(
            name="Open the GPUs as the service user",
            wanted=wanted,
            account=host.data.get("service_user", "sglang"),
            access=way,
        )
