"""testinfra's backend `pct://`: the tests' commands through the same agent as the deployment's.

`import stoker.testinfra` in conftest.py registers it. Hosts are `pct://200@pve1` (container 200 of
node pve1) and `pct://pve1` (the node), with `:PORT`, `?ssh_config=` and `?ssh_identity_file=`.
ssh logs in as root unless ssh_config names another user. One connection serves a whole test run.
"""

import atexit
from typing import Any

import testinfra.backend
from testinfra.backend.base import BaseBackend, CommandResult

from stoker.pct import openssh
from stoker.pct.client import Node

testinfra.backend.BACKENDS["pct"] = "stoker.testinfra.PctBackend"

_NODES: dict[tuple[Any, ...], Node] = {}


class PctBackend(BaseBackend):  # type: ignore[misc]  # testinfra has no types
    """One container, or a node."""

    NAME = "pct"

    def __init__(
        self,
        hostspec: str,
        ssh_config: str | None = None,
        ssh_identity_file: str | None = None,
        timeout: int = 10,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        spec = self.parse_hostspec(hostspec)
        self._vmid = int(spec.user) if spec.user else None
        self._way = (spec.name, spec.port, ssh_config, ssh_identity_file, int(timeout))
        super().__init__(hostspec, *args, **kwargs)
        self._encoding = "utf-8"  # else testinfra asks a python3 that the container may not have

    def run(self, command: str, *args: str, **kwargs: Any) -> CommandResult:
        """Run it as root; raises stoker.pct.errors if it cannot be run."""
        text = self.get_command(command, *args)
        result = self._node().run(text, vmid=self._vmid)
        return self.result(result.code, self.encode(text), result.stdout, result.stderr)

    def _node(self) -> Node:
        node = _NODES.get(self._way)
        if node is None or not node.alive:
            name, port, config, identity, timeout = self._way
            node = _NODES[self._way] = openssh.connect(
                name,
                port=int(port) if port else None,
                user=None if config else "root",
                identity_file=identity,
                config=config,
                connect_timeout_s=timeout,
            )
            node.require()
            atexit.register(node.close)
        return node
