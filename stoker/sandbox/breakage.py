"""Failures that can be injected into a node's stand-in GPUs, by name.

Each is a change of the node's GPU state file; `heal` takes all of them back. They follow the
states of the recovery ladder, and what a stand-in cannot show (a memory limit) is not among them;
Xids are recorded lines in a log of our own. Stuck processes are `stoker/sandbox/stuck`'s.
"""

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from stoker.refused import Refused
from stoker.sandbox import gpu, lxc_node
from stoker.sandbox.gpu import GpuState
from stoker.sandbox.node import gpu_kernel, gpu_log
from stoker.sandbox.state import State

_BIG_MIB = 91000


class Scenario(NamedTuple):
    """A failure: what it is like, what it adds to the failures, what recovery makes of it."""

    what: str
    failures: Callable[[GpuState], GpuState]
    expect: str
    log: Callable[[GpuState], Iterable[str]] = lambda state: ()
    """Lines of the kernel log that come with it."""


def _first_gpu(state: GpuState) -> GpuState:
    if not state["gpus"]:
        raise Refused("cannot break a GPU: this sandbox has none; build it with --gpus 1 or more")
    first: GpuState = state["gpus"][0]
    return first


def _first(state: GpuState) -> str:
    return str(_first_gpu(state)["uuid"])


def _driver(kind: str) -> Callable[[GpuState], GpuState]:
    return lambda state: {"driver": kind}


def memory(mode: str, **more: object) -> Callable[[GpuState], GpuState]:
    """Memory of GPU 0 that stays although nobody holds it, until what the mode says."""
    residue = {"mode": mode, "mib": _BIG_MIB, **more}
    return lambda state: {"memory": {**residue, "gpu": _first(state), "at": time.time()}}


def _per_gpu(kind: str, value: str) -> Callable[[GpuState], GpuState]:
    return lambda state: {kind: {_first(state): value}}


def _on_first(lines: Callable[[GpuState], Iterable[str]]) -> Callable[[GpuState], Iterable[str]]:
    return lambda state: lines(_first_gpu(state))


def _action(after: str) -> Callable[[GpuState], Iterable[str]]:
    return _on_first(lambda one: [gpu_log.recovery_action(one, "None", after)])


_NO_KILL = "it names the driver, ends nothing and changes nothing (20)"
_REBOOT = "it frees the unit and says that the host must be rebooted (75)"

SCENARIOS: dict[str, Scenario] = {
    "driver-not-loaded": Scenario("nvidia-smi cannot reach it, 9", _driver("not-loaded"), _NO_KILL),
    "driver-mismatch": Scenario(
        "the library is not the kernel module's, 18",
        _driver("mismatch"),
        _NO_KILL,
        lambda state: gpu_log.mismatch(gpu_kernel.NEWER, state["driver_version"]),
    ),
    "driver-library-missing": Scenario("no libnvidia-ml.so, 12", _driver("no-library"), _NO_KILL),
    "no-devices": Scenario("the driver sees no GPU, 6", _driver("no-devices"), _NO_KILL),
    "smi-hang": Scenario(
        "nvidia-smi never answers",
        lambda state: {"smi": "hang"},
        "it goes by the processes alone and asks nvidia-smi no second time (75)",
    ),
    "gpu-lost": Scenario(
        "GPU 0 fell off the bus, 15",
        _per_gpu("handles", "GPU is lost"),
        _REBOOT,
        _on_first(gpu_log.fallen),
    ),
    "gpu-unknown-error": Scenario(
        "GPU 0 has no handle",
        _per_gpu("handles", "Unknown Error"),
        "it cannot verify that GPU's memory and does nothing destructive",
    ),
    "gpu-requires-reset": Scenario(
        "GPU 0 tells nothing but that",
        lambda state: {
            "fields": {_first(state): "GPU requires reset"},
            "recovery_action": {_first(state): "Reset"},
        },
        "it asks for --allow-gpu-reset (11)",
        _on_first(gpu_log.silent_gsp),
    ),
    "recovery-reboot": Scenario(
        "GPU 0 asks for a reboot",
        _per_gpu("recovery_action", "Reboot"),
        _REBOOT,
        _action("Reboot"),
    ),
    "late-release": Scenario(
        "GPU 0's memory comes back 40 s after its last holder",
        memory("late-release", seconds=40),
        "it waits and climbs no further",
    ),
    "never-release": Scenario(
        "GPU 0's memory stays until a reset",
        memory("never-release"),
        "it asks for an opt-in after the rungs that it may climb (11)",
    ),
    "release-after-container-stop": Scenario(
        "GPU 0's memory stays until CT 200 has stopped",
        memory("release-after-container-stop", vmid=200),
        "it clears it by the container's restart, where that is allowed",
    ),
    "release-after-persistence-bounce": Scenario(
        "GPU 0's memory stays until -pm 0",
        memory("release-after-persistence-bounce"),
        "it clears it by switching persistence mode off and on",
    ),
    "release-after-uvm-reload": Scenario(
        "GPU 0's memory stays and UVM holds on to it until its module is loaded anew",
        lambda state: {**memory("release-after-uvm-reload")(state), "uvm": {_first(state): 1}},
        "it asks for --allow-driver-reload (11)",
    ),
    "reset-in-use": Scenario(
        "a reset is refused", lambda state: {"reset": "in-use"}, "a reset fails and is not retried"
    ),
    "reset-unsupported": Scenario(
        "a reset is not supported",
        lambda state: {"reset": "unsupported"},
        "a reset fails and is not retried",
    ),
    "reset-hang": Scenario(
        "a reset never ends",
        lambda state: {"reset": "hang"},
        "a reset is waited for, left alone and not repeated (75)",
    ),
    "reset-leaves-memory": Scenario(
        "a reset succeeds and the memory stays",
        lambda state: {"reset": "leaves-memory", **memory("never-release")(state)},
        "a reset's own success is not believed",
    ),
    "utilization-latch": Scenario(
        "GPU 0 reports 100 % with no holder, which is harmless",
        lambda state: {"utilization_latch": [_first(state)]},
        "it does nothing (0)",
    ),
}


def add(state: State, node_name: str, scenario: Scenario) -> None:
    """Add a scenario's failures and kernel log to one node."""
    node = next(one for one in state.nodes if one.name == node_name)
    with gpu.changing(lxc_node.shared(state, node) / "state.json") as told:
        told["failures"] |= scenario.failures(told)
        lines = [gpu_log.line(text, time.time(), node.name) for text in scenario.log(told)]
        told["kernel_log"] = [*told.get("kernel_log", []), *lines]
    lxc_node.observe(state, node)


def inject(state: State, name: str) -> None:
    """Add the failures of that scenario to every node of the instance."""
    if name not in SCENARIOS:
        raise Refused(
            f"cannot break the sandbox with {name!r}: there is no such scenario; "
            "`python -m stoker.sandbox break --list` names them"
        )
    for node in state.nodes:
        add(state, node.name, SCENARIOS[name])


def heal(state: State) -> None:
    """Take back every injected failure on every node, and what the kernel log says of them."""
    for node in state.nodes:
        path = lxc_node.shared(state, node) / "state.json"
        with gpu.changing(path) as told:
            told["failures"] = {}
            told["kernel_log"] = told.get("kernel_log", [])[:1]
            told["nodes"].pop("nvidia-modeset", None)
        (path.parent / "observed.json").unlink(missing_ok=True)
        lxc_node.observe(state, node)
