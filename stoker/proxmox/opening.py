"""The way to a node's containers that the inventory asks for."""

import functools

from stoker.proxmox.access import Access
from stoker.proxmox.api import Session
from stoker.proxmox.backend import Backend
from stoker.proxmox.by_api import ByApi
from stoker.proxmox.pct import Pct, Run


def backend(access: Access, node: str, run: Run) -> Backend:
    """Of the containers of `node`, by the name it has in its cluster. Nobody is asked yet.

    `run`: a command as root on that node, which `ssh` does everything by, and `token` only what
    Proxmox keeps for root@pam.
    """
    pct = Pct(run, node)
    return pct if access.backend == "ssh" else ByApi(session(access), node, pct)


@functools.lru_cache(maxsize=32)
def session(access: Access) -> Session:
    """One for all hosts of a run, so that its connections are used again."""
    return Session(access)
