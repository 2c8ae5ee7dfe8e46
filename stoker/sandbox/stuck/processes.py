"""Starting processes that carry a mark, finding them again, ending exactly those."""

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stoker.refused import Refused
from stoker.sandbox import lxc_node
from stoker.sandbox.node import LIBRARY
from stoker.sandbox.node.marked import NAME
from stoker.sandbox.state import Node, State
from stoker.sandbox.stuck import started
from stoker.sandbox.stuck.container import Target
from stoker.sandbox.stuck.started import Identity, Started


@dataclass(frozen=True)
class Process:
    """One of them, as the node sees it."""

    pid: int
    start: int
    session: int
    state: str
    name: str
    nodes: tuple[str, ...]

    @property
    def identity(self) -> Identity:
        return self.pid, self.start


def begun(target: Target) -> Started:
    """A record for what is about to be done on the target's node, saved."""
    one = Started(target.node.name, secrets.token_hex(8))
    started.save(target.state, one)
    return one


def _marked(state: State, node: Node, *words: str) -> str:
    script = f'cd /{LIBRARY} && exec python3 -B -m node.marked "$@"'
    return lxc_node.attach(state, node, ["sh", "-c", script, "sh", *words])


def _words(identities: tuple[Identity, ...]) -> list[str]:
    return [f"{pid}:{start}" for pid, start in identities]


def found(target: Target, one: Started) -> list[Process]:
    """Those that are there now."""
    told = _marked(target.state, target.node, "list", one.mark, *_words(one.sessions))
    return [_process(entry) for entry in json.loads(told)]


def _process(entry: dict[str, Any]) -> Process:
    return Process(**{**entry, "nodes": tuple(entry["nodes"])})


def launch(target: Target, one: Started, words: list[str]) -> None:
    """Run a command in the container as `pct exec` leaves one: in a session of its own."""
    script = f'{NAME}={one.mark} exec setsid "$@" </dev/null >/dev/null 2>&1 &'
    target.shell(script, *words)


def awaited(
    target: Target,
    one: Started,
    fits: Callable[[list[Process]], bool],
    what: str,
    timeout_s: float = 10,
) -> list[Process]:
    """Wait until they are as wanted, and remember them; `Refused` if that does not come."""
    until = time.monotonic() + timeout_s
    while True:
        processes = found(target, one)
        if fits(processes):
            identities = tuple(process.identity for process in processes)
            started.changed(target.state, one, processes=identities)
            return processes
        if time.monotonic() > until:
            raise Refused(
                f"cannot break sandbox {target.state.name}: {what} did not come about within "
                f"{timeout_s:.0f} s; run `python -m stoker.sandbox break --heal` and try again"
            )
        # Each look costs a start of python on the node, which a server that starts can do without.
        time.sleep(0.2 if timeout_s <= 10 else 2)


def kill(target: Target, identity: Identity) -> None:
    """SIGKILL to that very process."""
    _marked(target.state, target.node, "kill", *_words((identity,)))


def end(state: State, node: Node, one: Started) -> None:
    """They are gone; `Refused` names one that even SIGKILL does not end."""
    words = ["end", one.mark, *_words(one.sessions), "--", *_words(one.processes)]
    left = json.loads(_marked(state, node, *words))
    if left:
        raise Refused(
            f"cannot heal sandbox {state.name}: process {left[0]['pid']} ({left[0]['name']}) on "
            f"{node.name} does not end; take the sandbox down"
        )
