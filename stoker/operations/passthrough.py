"""Raw lines that pass GPUs replaced in a container's configuration file, on its node."""

import hashlib
import io
from pathlib import Path

from stoker.pct.client import Node
from stoker.proxmox import errors

_REWRITE = (Path(__file__).parent / "on_node" / "rewrite.py").read_text(encoding="utf-8")
_REWRITE_S = 60
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
    old, new = (text.encode("utf-8", "surrogateescape") for text in (before, after))
    digest = hashlib.sha1(old).hexdigest()
    words = ["/usr/bin/python3", "-I", "-c", _REWRITE, str(vmid), digest]
    ran = node.run(words, stdin=io.BytesIO(new), timeout=_REWRITE_S)
    if ran.code != 0:
        said = ran.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2] or "no message"
        raise _BY_CODE.get(ran.code, errors.ProxmoxError)(
            f"cannot replace the raw lines of CT {vmid} on {node.name}: {said}"
        )
