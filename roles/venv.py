"""The venv of each SGLang version that the host's flag sets name."""

from pathlib import Path

from pyinfra import host
from pyinfra.api import deploy

from stoker.operations import venv as operations
from stoker.serving import selection, tools
from stoker.serving.hostdata import VENVS_KEPT

SITE = Path()


@deploy("Venv")
def venv() -> None:
    """From host data `flagsets`, `venvs_kept`."""
    operations.synced(
        name="Build the venvs from their locks",
        releases=selection.releases(SITE, host.data.flagsets),
        tool=tools.load(SITE / "locks" / "tools.yaml")["uv"],
        kept=host.data.get("venvs_kept", VENVS_KEPT),
    )
