"""A container's GPUs: raw lines replaced on its node, and each device node opened inside it."""

import hashlib
import io
from collections.abc import Generator
from pathlib import Path
from typing import Any

from pyinfra import host, state
from pyinfra.api import operation
from pyinfra.api.command import PyinfraCommand

from stoker.container import devices, opened
from stoker.container.wanted import Wanted
from stoker.facts import proxmox_node
from stoker.facts.opened_nodes import OpenedNodes, read
from stoker.facts.proxmox_node import Run
from stoker.operations.refusal import refused
from stoker.pct.client import Node
from stoker.proxmox import errors
from stoker.refused import Refused

_REWRITE = (Path(__file__).parent / "on_node" / "rewrite.py").read_text(encoding="utf-8")
_REWRITE_S = 60
_LOOK_S = 40
_BY_CODE = {
    3: errors.Changed,
    4: errors.Locked,
    5: errors.NoSuchContainer,
    6: errors.NoQuorum,
}


def migrated(node: Node, vmid: int, before: str, after: str) -> None:
    """The configuration file of a container of the node is `after`, where it was `before`.

    Under Proxmox's own lock; the old text stays in /var/lib/stoker/migrated. Raises a ProxmoxError.
    """
    digest = hashlib.sha1(before.encode()).hexdigest()
    words = ["/usr/bin/python3", "-I", "-c", _REWRITE, str(vmid), digest]
    ran = node.run(words, stdin=io.BytesIO(after.encode()), timeout=_REWRITE_S)
    if ran.code != 0:
        said = ran.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2] or "no message"
        raise _BY_CODE.get(ran.code, errors.ProxmoxError)(
            f"cannot replace the raw lines of CT {vmid} on {node.name}: {said}"
        )


@operation()
def usable(wanted: Wanted, account: str) -> Generator[PyinfraCommand, None, None]:
    """Each device node of the container's GPUs can be opened in it by the service user.

    + account: the service user

    Looked at only when the run is under way: before, the container may not even be there.
    """
    if not (wanted.gpus and wanted.started and state.is_executing):
        host.noop("the GPUs' device nodes are opened when the container runs")
        return
    vmid, run = _way(host)
    try:
        look = proxmox_node.look(run)
        paths = opened.paths(devices.chosen(wanted.gpus, look.cards))
    except (OSError, Refused) as error:
        yield refused(error)
        return
    found = read(host.get_fact(OpenedNodes, user=account, paths=paths))
    wrong = opened.problems(vmid, account, found, look.numbers)
    if wrong or not found:
        yield refused("\n".join(wrong) or f"cannot tell whether the GPUs of {host.name} work")
    else:
        host.noop(f"{account} can open {len(found)} device nodes")


def _way(container: Any) -> tuple[int, Run]:
    """Its VMID, and how words are run on its node."""
    connector = container.connector
    return int(connector.vmid), lambda words: connector.node.run(words, timeout=_LOOK_S)
