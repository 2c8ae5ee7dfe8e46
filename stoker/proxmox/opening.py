"""The way to a node's containers that the inventory asks for."""

from stoker.proxmox.access import Access
from stoker.proxmox.backend import Backend
from stoker.proxmox.pct import Pct, Run


def backend(access: Access, node: str, run: Run) -> Backend:
    """Of the containers of `node`, by the name it has in its cluster. Nobody is asked yet.

    `run`: a command as root on that node, which `ssh` does everything by, and `token` only what
    Proxmox keeps for root@pam.
    """
    pct = Pct(run, node)
    if access.backend == "ssh":
        return pct
    # Here, since a run over ssh alone would wait 0.1 s for what only https needs.
    from stoker.proxmox.api import shared
    from stoker.proxmox.by_api import ByApi

    return ByApi(shared(access), node, pct)
