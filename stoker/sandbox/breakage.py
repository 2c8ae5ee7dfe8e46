"""Failures that can be injected into a node's stand-in GPUs, by name.

Each is a change of the node's GPU state file; `heal` takes all of them back. They follow the
states of the recovery ladder, and what a stand-in cannot show (a real Xid, a memory limit) is not
among them.
"""

from collections.abc import Callable

from stoker.refused import Refused
from stoker.sandbox import gpu, lxc_node
from stoker.sandbox.gpu import GpuState
from stoker.sandbox.state import State

_BIG_MIB = 91000


def _first(state: GpuState) -> str:
    if not state["gpus"]:
        raise Refused("cannot break a GPU: this sandbox has none; build it with --gpus 1 or more")
    return str(state["gpus"][0]["uuid"])


def _driver(kind: str) -> Callable[[GpuState], GpuState]:
    return lambda state: {"driver": kind}


def _memory(mode: str, **more: int) -> Callable[[GpuState], GpuState]:
    residue = {"mode": mode, "mib": _BIG_MIB, **more}
    return lambda state: {"memory": {**residue, "gpu": _first(state)}}


def _per_gpu(kind: str, value: str) -> Callable[[GpuState], GpuState]:
    return lambda state: {kind: {_first(state): value}}


# Name -> (what it is like, the failures it adds).
SCENARIOS: dict[str, tuple[str, Callable[[GpuState], GpuState]]] = {
    "driver-not-loaded": ("nvidia-smi cannot reach it, 9", _driver("not-loaded")),
    "driver-mismatch": ("the library is not the kernel module's, 18", _driver("mismatch")),
    "driver-library-missing": ("no libnvidia-ml.so, 12", _driver("no-library")),
    "no-devices": ("the driver sees no GPU, 6", _driver("no-devices")),
    "smi-hang": ("nvidia-smi never answers", lambda state: {"smi": "hang"}),
    "gpu-lost": ("GPU 0 fell off the bus, 15", _per_gpu("handles", "GPU is lost")),
    "gpu-unknown-error": ("GPU 0 has no handle", _per_gpu("handles", "Unknown Error")),
    "gpu-requires-reset": (
        "GPU 0 tells nothing but that",
        lambda state: {
            "fields": {_first(state): "GPU requires reset"},
            "recovery_action": {_first(state): "Reset"},
        },
    ),
    "recovery-reboot": ("GPU 0 asks for a reboot", _per_gpu("recovery_action", "Reboot")),
    "late-release": (
        "GPU 0's memory comes back 40 s after its last holder",
        _memory("late-release", seconds=40),
    ),
    "never-release": ("GPU 0's memory stays until a reset", _memory("never-release")),
    "release-after-container-stop": (
        "GPU 0's memory stays until CT 200 has stopped",
        _memory("release-after-container-stop", vmid=200),
    ),
    "release-after-persistence-bounce": (
        "GPU 0's memory stays until -pm 0",
        _memory("release-after-persistence-bounce"),
    ),
    "reset-in-use": ("a reset is refused", lambda state: {"reset": "in-use"}),
    "reset-unsupported": ("a reset is not supported", lambda state: {"reset": "unsupported"}),
    "reset-hang": ("a reset never ends", lambda state: {"reset": "hang"}),
    "reset-leaves-memory": (
        "a reset succeeds and the memory stays",
        lambda state: {"reset": "leaves-memory", **_memory("never-release")(state)},
    ),
    "utilization-latch": (
        "GPU 0 reports 100 % with no holder, which is harmless",
        lambda state: {"utilization_latch": [_first(state)]},
    ),
}


def inject(state: State, name: str) -> None:
    """Add the failures of that scenario to every node of the instance."""
    if name not in SCENARIOS:
        raise Refused(
            f"cannot break the sandbox with {name!r}: there is no such scenario; "
            "`python -m stoker.sandbox break --list` names them"
        )
    for node in state.nodes:
        path = lxc_node.shared(state, node) / "state.json"
        told = gpu.read(path)
        told["failures"] |= SCENARIOS[name][1](told)
        gpu.write(path, told)


def heal(state: State) -> None:
    """Take back every injected failure on every node."""
    for node in state.nodes:
        path = lxc_node.shared(state, node) / "state.json"
        gpu.write(path, gpu.read(path) | {"failures": {}})
        (path.parent / "observed.json").unlink(missing_ok=True)
