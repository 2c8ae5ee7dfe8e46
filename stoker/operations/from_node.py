"""A container as its node sees it, where no look from inside can reach: who holds one of its GPUs
from outside, and what the node knows of a death in it."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import gevent
from pyinfra import logger
from pyinfra.api import OperationError

from stoker.facts.gpu_node import LOOK_S, seen
from stoker.facts.host_side import read, words
from stoker.health.crash.death import HostSide
from stoker.health.retained import watches_only
from stoker.health.seen import Holder, Seen
from stoker.recovery import bundle
from stoker.serving.followed import Followed

AGAIN_S = 2
"""A passing nvidia-smi of somebody's monitoring is gone by then."""


def require_free(host: Any, units: Sequence[Followed]) -> None:
    """Raises OperationError naming who outside the container holds a GPU that these units want.

    Nothing happens for a container that is reached without its node, and for units without GPUs.
    """
    found = _outside(host, units)
    if found:
        gevent.sleep(AGAIN_S)
        again = _outside(host, units)
        found = [line for line in found if line in again]
    if found:
        names = ", ".join(unit.name for unit in units)
        raise OperationError(
            "\n".join(
                [
                    f"cannot start {names}: its GPUs are held outside this container, as its node "
                    "sees it; end that there, nothing was touched:",
                    *(f"    {line}" for line in found),
                ]
            )
        )


def told(host: Any, unit: Followed) -> list[str]:
    """Who holds the GPUs of a unit that does not run, from wherever; a line each.

    Empty where the node cannot be asked.
    """
    look = _look(host, [unit])
    if look is None:
        return []
    vmid = int(host.connector.vmid)
    wanted = gpus_of(look, vmid, unit)
    lines = [_line(index, h) for index, uuid in wanted for h in _holding(look, uuid)]
    return lines or [
        f"on its node nobody is seen to hold it: see what recovery says of CT {vmid}, "
        "pyinfra --dry INVENTORY recover.py"
    ]


def host_side(host: Any, since: float) -> HostSide | None:
    """The node's half of a death in this container, looked at from then on (seconds since 1970).

    None, with a warning where there is a node, if it cannot be asked. Nothing is changed.
    """
    vmid = _vmid(host)
    if vmid is None:
        return None
    try:
        ran = host.connector.node.run(bundle.command(words(vmid, since)), timeout=LOOK_S)
        found = read(ran.stdout) if ran.code == 0 else None
        why = _last_line(ran.stderr)
    except OSError as error:  # the node, or the line to it
        found, why = None, str(error)
    if found is None:
        said = f"the node of CT {vmid} cannot say what it saw: {why}; see journalctl -k there"
        host.log(said, log_func=logger.warning)
    return found


def gpus_of(look: Seen, vmid: int, unit: Followed) -> list[tuple[int, str]]:
    """Number inside the container and UUID of each GPU of the unit that the node knows.

    CUDA counts the GPUs that the container is passed, in the order of their PCI addresses.
    """
    container = look.container(vmid)
    passed = container.gpus if container else ()
    return [(index, passed[index]) for index in unit.gpus if index < len(passed) and passed[index]]


def in_the_way(look: Seen, vmid: int, units: Sequence[Followed]) -> Iterator[tuple[int, Holder]]:
    """GPU and holder, for each holder outside the container.

    A service of the node that only watches its GPUs holds no memory and is in nobody's way.
    """
    for unit in units:
        for index, uuid in gpus_of(look, vmid, unit):
            for holder in _holding(look, uuid):
                if holder.owner.vmid != vmid and not watches_only(holder):
                    yield index, holder


def _outside(host: Any, units: Sequence[Followed]) -> list[str]:
    look = _look(host, units)
    if look is None:
        return []
    return [_line(index, h) for index, h in in_the_way(look, int(host.connector.vmid), units)]


def _holding(look: Seen, uuid: str) -> list[Holder]:
    return [holder for holder in look.holders if uuid in holder.gpus]


def _line(index: int, holder: Holder) -> str:
    since = datetime.fromtimestamp(holder.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return (
        f"GPU {index}: {holder.owner}, process {holder.pid} on the node, since {since}: "
        f"{holder.command or holder.name}"
    )


def _look(host: Any, units: Sequence[Followed]) -> Seen | None:
    """A quick look from the node of this container, without nvidia-smi."""
    vmid = _vmid(host)
    if vmid is None or not any(unit.gpus for unit in units):
        return None
    ran = host.connector.node.run(bundle.command(["look", "--json", "--no-smi"]), timeout=LOOK_S)
    if ran.code != 0:
        host.log(
            f"the node of CT {vmid} cannot say who holds its GPUs: {_last_line(ran.stderr)}; see "
            "stoker gpus, each server waits for its GPUs by itself too",
            log_func=logger.warning,
        )
        return None
    return seen(json.loads(ran.stdout))


def _vmid(host: Any) -> int | None:
    """Of a container that is reached through its node."""
    vmid = getattr(getattr(host, "connector", None), "vmid", None)
    return None if vmid is None else int(vmid)


def _last_line(said: bytes) -> str:
    return said.decode("utf-8", "replace").strip().rpartition("\n")[2] or "nothing"
