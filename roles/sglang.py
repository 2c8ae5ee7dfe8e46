"""SGLang as installed answers."""

from pathlib import Path

from pyinfra import host
from pyinfra.api import deploy

from stoker.operations import sglang as operations
from stoker.serving import selection

SITE = Path()


@deploy("SGLang")
def sglang() -> None:
    operations.installed(
        name="Prove that the server starts",
        releases=selection.releases(SITE, host.data.flagsets),
    )
