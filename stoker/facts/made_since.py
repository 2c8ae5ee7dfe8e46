"""Which device nodes of a node came to be since a container started."""

from collections.abc import Collection
from pathlib import Path

from stoker.facts.proxmox_node import Run

_SCRIPT = (Path(__file__).parent / "on_node" / "made_since.py").read_text(encoding="utf-8")
COMMAND = ("/usr/bin/python3", "-I", "-S", "-c", _SCRIPT)


def made_since(run: Run, vmid: int, paths: Collection[str]) -> frozenset[str]:
    """Those of the paths; all of them where that is not known. `run` runs words on the node as
    root.

    A change of a node's owner or mode counts as well: its file system keeps no other time.
    """
    ran = run((*COMMAND, str(vmid), *sorted(paths)))
    if ran.code != 0:
        return frozenset(paths)
    return frozenset(ran.stdout.decode("utf-8", "replace").splitlines()) & frozenset(paths)
