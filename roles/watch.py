"""A node that can be looked at by its own python3, and looks at itself if that is wanted."""

from pyinfra import host
from pyinfra.api import deploy

from stoker.operations import recovery
from stoker.operations import watch as operations
from stoker.serving.watch import Watch


@deploy("Watch")
def watch() -> None:
    """From the node's data `watch`. `stoker.pyz` is placed in any case: a server that waits for its
    GPUs in vain names it."""
    said = host.data.get("watch")
    recovery.installed(name="Place stoker.pyz")
    operations.present(
        name="Watch the node's GPUs, if wanted",
        watch=None if said is None else Watch.model_validate(said),
    )
