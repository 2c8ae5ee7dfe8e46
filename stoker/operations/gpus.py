"""A container's GPUs: each device node opened inside it, as a server opens it."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from pyinfra import host, state
from pyinfra.api import FunctionCommand, OperationError, operation
from pyinfra.api.command import PyinfraCommand

from stoker.container import devices, opened, passing
from stoker.container.raw_lines import Numbering
from stoker.container.wanted import Wanted
from stoker.facts.opened_nodes import OpenedNodes, read
from stoker.facts.proxmox_node import NodeLook
from stoker.operations import in_vain
from stoker.operations.container import restarting
from stoker.operations.container.node import LOOK_S, Way
from stoker.operations.following import say
from stoker.operations.refusal import failed, refused
from stoker.proxmox.access import Access
from stoker.refused import Refused


@dataclass(frozen=True)
class Seen:
    """How the device nodes of a container's GPUs are."""

    count: int
    wrong: tuple[str, ...]
    """A sentence for each problem."""
    by_restart: tuple[str, ...]
    """The paths that have one, if a restart brings all of them right."""


@operation()
def usable(wanted: Wanted, account: str, access: Access) -> Generator[PyinfraCommand, None, None]:
    """Each device node of the container's GPUs can be opened in it by the service user.

    + account: the service user
    + access: how the Proxmox of its node is talked to

    Looked at only when the run is under way: before, the container may not even be there. Where a
    restart is allowed, the container gets one for what a restart brings right, and no second one
    after one that did not help.
    """
    if not (wanted.gpus and wanted.started and state.is_executing):
        host.noop("the GPUs' device nodes are opened when the container runs")
        return
    try:
        seen = look(Way(host, wanted, access), account)
    except (OSError, Refused) as error:
        yield refused(error)
        return
    if not seen.wrong:
        host.noop(f"{account} can open {seen.count} device nodes")
    elif wanted.allow_restart and seen.by_restart:
        yield FunctionCommand(restarted, [wanted, account, access], {})
    else:
        yield refused("\n".join(seen.wrong))


def look(way: Way, account: str) -> Seen:
    """Open them; raises OSError or Refused."""
    node = way.look()
    paths = opened.paths(devices.chosen(way.wanted.gpus or (), node.cards))
    found = read(way.host.get_fact(OpenedNodes, user=account, paths=paths))
    if not found:
        raise Refused(f"cannot tell whether the GPUs of {way.host.name} work: it did not answer")
    if not opened.problems(way.vmid, account, found, node.numbers, ()):
        return Seen(len(found), (), ())
    brought = _brought(way, node)
    wrong = opened.problems(way.vmid, account, found, node.numbers, brought)
    return Seen(len(found), wrong, opened.by_restart(found, node.numbers, brought))


def _brought(way: Way, node: NodeLook) -> frozenset[str]:
    """The device nodes that a restart brings; none where the last one was in vain."""
    if in_vain.known(lambda words: way.run(words, LOOK_S), way.vmid):
        return frozenset()
    numbering = Numbering(node.numbers, node.majors)
    return frozenset(passing.brought(node.texts.get(way.vmid, ""), numbering))


def restarted(state: Any, host: Any, wanted: Wanted, account: str, access: Access) -> bool:
    """Restart it for its device nodes, if it still needs that; False after a failure, told in
    sentences."""
    way = Way(host, wanted, access)
    try:
        host.connector.hold()
        seen = look(way, account)
        if seen.by_restart:
            say(host, f"CT {way.vmid} is restarted for {', '.join(seen.by_restart)}")
            _restart(way)
            seen = look(way, account)
            if seen.wrong:
                in_vain.noted(lambda words: way.run(words, LOOK_S), way.vmid)
                helpless = f"CT {way.vmid} was restarted for that, which did not help"
                raise OperationError("\n".join([*seen.wrong, helpless]))
        if seen.wrong:
            raise OperationError("\n".join(seen.wrong))
    except (OperationError, OSError, Refused) as error:
        return failed(host, error)
    return True


def _restart(way: Way) -> None:
    """Its servers end first. It runs afterwards whatever fails."""
    backend = way.backend()
    try:
        restarting.stop(way.host, backend, way.wanted.stop_timeout_s)
    except Exception:
        restarting.start_again(way.host, backend)
        raise
    restarting.start(way.host, backend)
