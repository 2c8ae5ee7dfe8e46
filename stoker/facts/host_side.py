"""The node's half of a death in one of its containers, told by `stoker.pyz` on the node.

pyinfra inventory/lab.py --limit pve fact stoker.facts.host_side.HostSides vmid=200 since=1796000000

It travels in a command line and leaves nothing on the node's disk. It is plain data, which
pyinfra's `fact` command prints as JSON; `read` makes our type of it.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pyinfra.api import FactBase, StringCommand

from stoker.facts.gpu_node import LOOK_S
from stoker.health.crash.death import HostSide
from stoker.recovery import bundle

_HOST_SIDE = TypeAdapter(HostSide)


class HostSides(FactBase[dict[str, Any] | None]):
    """What a node saw of its container `vmid` since then, seconds since 1970, for `read`.

    None: the node could not look. A container asks by `stoker.operations.from_node.host_side`.
    """

    def command(self, vmid: int, since: float) -> StringCommand:
        look = bundle.command(words(vmid, since))
        return StringCommand("timeout", "--kill-after=5", str(LOOK_S), look, "|| true")

    def process(self, output: list[str]) -> dict[str, Any] | None:
        found = read("\n".join(output))
        return None if found is None else asdict(found)


def words(vmid: int, since: float) -> list[str]:
    """Of `stoker.pyz`."""
    return ["evidence", str(vmid), "--since", str(int(since))]


def read(output: str | bytes) -> HostSide | None:
    """What `stoker.pyz evidence` printed; None: nothing that makes sense."""
    try:
        return _HOST_SIDE.validate_json(output)
    except ValidationError:
        return None
