"""SGLang as installed answers."""

from pathlib import Path

from pyinfra import host
from pyinfra.api import deploy

from stoker.operations import sglang as operations
from stoker.serving import selection

ROOT = Path(__file__).parents[1]


@deploy("SGLang")
def sglang() -> None:
    operations.installed(
        name="Prove that the server starts",
        releases=selection.releases(ROOT, host.data.flagsets),
    )
