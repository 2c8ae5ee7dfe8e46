"""The pinned uv, which builds the venvs."""

from pathlib import Path

from pyinfra.api import deploy

from stoker.operations import uv as operations
from stoker.serving import tools

TOOLS = Path("locks/tools.yaml")


@deploy("uv")
def uv() -> None:
    operations.present(name="Place the pinned uv", tool=tools.load(TOOLS)["uv"])
