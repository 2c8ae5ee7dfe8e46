"""The container itself: there, as declared, running."""

from collections.abc import Generator

from pyinfra import host, state
from pyinfra.api import FunctionCommand, operation
from pyinfra.api.command import PyinfraCommand
from pyinfra.context import ctx_host

from stoker.container.wanted import Wanted
from stoker.operations.container import showing
from stoker.operations.container.applying import apply
from stoker.operations.container.node import Way, reached
from stoker.operations.refusal import refused
from stoker.proxmox.access import Access
from stoker.refused import Refused


@operation()
def present(wanted: Wanted, access: Access) -> Generator[PyinfraCommand, None, None]:
    """The container is there as declared, and runs. What is not declared stays as it is.

    + access: how its node's Proxmox is talked to

    A dry run tells the difference. What needs a restart waits for one, unless it is allowed.
    """
    # Not pyinfra's stand-in for it, which means nothing to whoever tells of a long wait.
    container = ctx_host.get()
    try:
        reached(container)
        way = Way(container, wanted, access)
        found = way.plan()
        if not found.acts(wanted.allow_restart):
            showing.told(container, found, wanted)
            showing.require_gpus(found)
            host.noop(f"CT {found.vmid} is as declared")
            return
    except (OSError, Refused) as error:
        if not state.is_executing:
            showing.doubted(container, error)
        yield refused(error)
        return
    if not state.is_executing:
        showing.preview(container, found, wanted)
    yield FunctionCommand(apply, [wanted, access], {})
