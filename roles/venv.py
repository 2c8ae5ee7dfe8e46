"""The venv of each SGLang version that the host's flag sets name."""

from pathlib import Path

from pyinfra import host
from pyinfra.api import deploy

from stoker.operations import venv as operations
from stoker.serving import selection, tools

ROOT = Path(__file__).parents[1]


@deploy("Venv")
def venv() -> None:
    operations.synced(
        name="Build the venvs from their locks",
        releases=selection.releases(ROOT, host.data.flagsets),
        tool=tools.load(ROOT / "locks" / "tools.yaml")["uv"],
    )
