"""Reading an inventory's hosts by pyinfra's API, without a deploy."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from pyinfra.api import Config, State
from pyinfra.api.connect import connect_all, disconnect_all
from pyinfra.api.exceptions import PyinfraError
from pyinfra.context import ctx_state
from pyinfra_cli.inventory import make_inventory

from stoker.refused import Refused

NODES = "pve"
"""The group of an inventory that has the Proxmox nodes."""


@contextmanager
def connected(inventory: str, limit: str | None) -> Iterator[tuple[list[Any], list[Any]]]:
    """Hosts that were reached and hosts that were not, both in the inventory's order.

    `limit`: host or group names, `*` allowed, several by comma. Raises `Refused` if it is no
    inventory or no host is left.
    """
    if not Path(inventory).is_file():
        raise Refused(f"cannot read the inventory: there is no file {inventory}; name one")
    sys.path.append(".")
    state = State()
    # pyinfra executes inventory and group data files in the context of a state.
    with ctx_state.use(state):
        found = make_inventory(inventory, cwd=str(Path.cwd()))
        wanted = [host for host in found if _named(host, limit)]
        if not wanted:
            raise Refused(f"cannot limit {inventory} to {limit}: no such host; correct it")
        state.init(found, Config(), initial_limit=wanted)
        _connect(state)
        try:
            yield (
                [host for host in wanted if host in state.active_hosts],
                [host for host in wanted if host not in state.active_hosts],
            )
        finally:
            disconnect_all(state)


@contextmanager
def nodes(what: str, inventory: str, limit: str | None) -> Iterator[tuple[list[Any], list[Any]]]:
    """The same of Proxmox nodes alone; `Refused` too where there is none to show `what` of."""
    with connected(inventory, limit) as both:
        reached, lost = ([host for host in hosts if NODES in host.groups] for hosts in both)
        if not reached and not lost:
            within = " within the limit" if limit else ""
            raise Refused(
                f"cannot show {what}: {inventory} has no host in its group {NODES}{within}; "
                "name a node there"
            )
        yield reached, lost


def _connect(state: State) -> None:
    try:
        connect_all(state)
    except PyinfraError:
        if state.active_hosts:
            raise
        # Nobody was reached: that is no error here, each host says so itself.


def _named(host: Any, limit: str | None) -> bool:
    names = [host.name, *host.groups]
    return not limit or any(fnmatch(name, part) for part in limit.split(",") for name in names)
