"""The driver's libraries in a container, as its node's kernel wants them."""

from pyinfra import host
from pyinfra.api import deploy

from stoker.container import asked
from stoker.operations import driver as operations


@deploy("Driver")
def driver() -> None:
    """From the host's data `driver`."""
    wanted = asked.driver(host.data.get("driver"))
    operations.matched(name="Match the driver's libraries to the node's module", driver=wanted)
    if wanted.hold:
        operations.held(name="Hold the driver's packages")
