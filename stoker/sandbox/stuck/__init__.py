"""Stuck states of CT 200 with real processes, and everything that `break` can do, by name.

Each works on any instance whose CT 200 runs: where a server was deployed its units are failed
first, as after a crash that they did not recover from. `heal` takes everything back but does not
start the units again: that is what a deploy or a recovery is for.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from stoker.refused import Refused
from stoker.sandbox import breakage, gpu, lxc_node
from stoker.sandbox.state import Node, State
from stoker.sandbox.stuck import (
    by_hand,
    container,
    elsewhere,
    frozen,
    holder,
    processes,
    started,
)
from stoker.sandbox.stuck.container import Target
from stoker.sandbox.stuck.processes import Process
from stoker.sandbox.stuck.started import Started

Play = Callable[[Target, Started], object]


@dataclass(frozen=True)
class Stuck:
    """A scenario: what is broken then, what recovery makes of it, and how it is brought about."""

    what: str
    expect: str
    play: Play


def _any(seen: list[Process]) -> bool:
    return bool(seen)


def _holding(seen: list[Process]) -> bool:
    return any(process.nodes for process in seen)


def _held(mode: str) -> Play:
    """A holder of GPU 0 in that mode of `holder.c`, outside any unit."""

    def play(target: Target, one: Started) -> None:
        target.given_up()
        processes.launch(target, one, [holder.PROGRAM, mode, *target.nodes(0)])
        processes.awaited(target, one, _holding, f"a holder ({mode})")

    return play


def _every_gpu(target: Target, one: Started) -> None:
    minors = target.state.minors(target.container)
    target.given_up()
    each = [shlex.join([holder.PROGRAM, "plain", *target.nodes(minor)]) for minor in minors]
    # By one shell, which leaves them without a parent: a start of pct for each takes seconds.
    processes.launch(target, one, ["sh", "-c", "".join(f"{words} & " for words in each)])
    processes.awaited(
        target,
        one,
        lambda seen: len({name for process in seen for name in process.nodes}) >= len(minors) + 2,
        f"{len(minors)} holders",
    )


def _zombie_leader(target: Target, one: Started) -> None:
    target.given_up()
    processes.launch(target, one, [holder.PROGRAM, "zombie-leader", *target.nodes(0)])
    fits: Callable[[list[Process]], bool] = lambda seen: _holding(seen) and seen[0].state == "Z"  # noqa: E731
    processes.awaited(target, one, fits, "a holder whose main thread has ended")


def _mapped_only(target: Target, one: Started) -> None:
    """/dev/zero is the one device here whose mapping outlives its descriptor.

    For as long as this lasts it plays the driver's node nvidia-modeset, and counts for GPU 0.
    """
    target.given_up()
    with gpu.changing(lxc_node.shared(target.state, target.node) / "state.json") as told:
        told["nodes"]["nvidia-modeset"] = [1, 5]
        told["failures"]["mapped"] = told["gpus"][0]["uuid"]
    lxc_node.observe(target.state, target.node)
    processes.launch(target, one, [holder.PROGRAM, "mapped-only", "/dev/zero"])
    processes.awaited(target, one, _any, "a holder by mapping")


def _frozen_disk(target: Target, one: Started) -> None:
    state, node = target.state, target.node
    target.given_up()
    one = started.changed(state, one, frozen=True)
    frozen.mounted(state, node)
    words = f"setsid {holder.PROGRAM} writer {' '.join(target.nodes(0))}"
    attached = f"lxc-attach -n {target.vmid} --clear-env -v {processes.NAME}={one.mark} -- {words}"
    script = f"{attached} </dev/null >{frozen.DIRECTORY}/server.log 2>/dev/null &"
    lxc_node.attach(state, node, ["sh", "-c", script])
    processes.awaited(target, one, _holding, "a holder that writes")
    frozen.freeze(state, node)
    stuck: Callable[[list[Process]], bool] = lambda seen: any(p.state == "D" for p in seen)  # noqa: E731
    processes.awaited(target, one, stuck, "a holder in state D")


def _died(name: str) -> Play:
    """The servers are killed while they hold GPU 0, whose memory then goes as that failure says."""

    def play(target: Target, one: Started) -> None:
        breakage.inject(target.state, name)
        target.given_up()

    return play


def _failed(name: str) -> Play:
    return lambda target, one: breakage.inject(target.state, name)


_ENDED = "it ends it and the unit serves again"
PLAYED: dict[str, Stuck] = {
    "orphans": Stuck(
        "the children of an SGLang that was started by hand (setsid nohup) outlived its main "
        "process, without the PDEATHSIG that 0.5.12 gives them, and hold GPU 0; the unit is failed",
        "it ends them and the unit serves again",
        by_hand.orphaned,
    ),
    "started-by-hand": Stuck(
        "a whole SGLang outside its unit (setsid nohup) holds the port and GPU 0; the unit is "
        "failed",
        _ENDED,
        by_hand.server,
    ),
    "eight-orphans": Stuck(
        "a process without a parent holds each GPU of CT 200; the unit is failed",
        "it ends them and the unit serves again",
        _every_gpu,
    ),
    "term-ignorer": Stuck(
        "a process that ignores SIGTERM holds GPU 0", "it ends it by SIGKILL", _held("term-ignorer")
    ),
    "respawner": Stuck(
        "a process outside any unit starts a new holder of GPU 0 as soon as one is gone",
        "signals do not suffice: it asks for the container's restart (11), or restarts it",
        _held("respawner"),
    ),
    "zombie-leader": Stuck(
        "a process whose main thread has ended (Z) holds GPU 0 by another thread",
        "it finds it, which fuser and lsof do not, and ends it",
        _zombie_leader,
    ),
    "mapped-only": Stuck(
        "a process holds GPU 0 by a mapping alone, its descriptor closed (/dev/zero plays the "
        "node nvidia-modeset)",
        "it finds it by its mapping and ends it",
        _mapped_only,
    ),
    "forked-child": Stuck(
        "a child holds GPU 0 by a descriptor it inherited; its parent was killed",
        _ENDED,
        _held("forked-child"),
    ),
    "fork-bomb": Stuck(
        "40 processes hold GPU 0, each of which leaves it to a child after a second",
        "it ends them all, or asks for the container's restart (11)",
        _held("fork-bomb"),
    ),
    "frozen-disk": Stuck(
        "a holder of GPU 0 waits for a frozen disk in state D and cannot be killed",
        "it does not stop the container, which would hang, and names the disk",
        _frozen_disk,
    ),
    "neighbour-holds": Stuck(
        "GPU 0 is passed to the neighbour as well, and a process there holds it",
        "it names the neighbour and touches nothing of it (10)",
        elsewhere.neighbour,
    ),
    "host-holds": Stuck(
        f"the node's own {elsewhere.SERVICE} holds GPU 0",
        "it names the service and leaves it alone (10)",
        elsewhere.host_service,
    ),
}
# In these the server that held the memory has died.
_MEMORY = (
    "late-release",
    "never-release",
    "release-after-container-stop",
    "release-after-persistence-bounce",
    "release-after-uvm-reload",
    "reset-leaves-memory",
)
SCENARIOS: dict[str, Stuck] = PLAYED | {
    name: Stuck(one.what, one.expect, (_died if name in _MEMORY else _failed)(name))
    for name, one in breakage.SCENARIOS.items()
}


def inject(state: State, name: str) -> str:
    """Bring the instance into that state; one sentence on what is so now and what to expect."""
    if name not in SCENARIOS:
        raise Refused(
            f"cannot break the sandbox with {name!r}: there is no such scenario; "
            "`python -m stoker.sandbox break --list` names them"
        )
    scenario = SCENARIOS[name]
    if name in breakage.SCENARIOS and name not in _MEMORY:
        breakage.inject(state, name)
    else:
        target = container.of(state)
        holder.placed(lxc_node.shared(state, target.node))
        one = processes.begun(target)
        scenario.play(target, one)
        lxc_node.observe(state, target.node)
    return f"{name}: {scenario.what}; of recovery expect that {scenario.expect}"


def heal(state: State) -> None:
    """Take back everything that was injected, started, mounted or passed."""
    for one in started.load(state):
        node = next(node for node in state.nodes if node.name == one.node)
        if one.frozen:
            frozen.thaw(state, node)
        if lxc_node.running(state, node):
            _undone(state, one)
        if one.frozen:
            frozen.gone(state, node)
        started.forget(state, one)
    breakage.heal(state)


def _undone(state: State, one: Started) -> None:
    node = next(node for node in state.nodes if node.name == one.node)
    if one.service:
        elsewhere.no_service(state, node, one.service)
    processes.end(state, node, one)
    if one.device:
        elsewhere.not_passed(state, node, *one.device)
    for path in one.files:
        vmid = str(state.containers[0].vmid)
        words = ["pct", "exec", vmid, "--", "rm", "-f", path]
        lxc_node.attach(state, node, words, check=False)


def released(state: State, node: Node) -> None:
    """Nothing keeps a node from being stopped: no process of it waits for a frozen disk."""
    if any(one.frozen for one in started.load(state)):
        frozen.thaw(state, node)


def cleared(state: State, node: Node) -> None:
    """Nothing of it is left on this machine once the node is stopped."""
    if any(one.frozen for one in started.load(state)):
        frozen.gone(state, node)
