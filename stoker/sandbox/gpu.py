"""The stand-in GPUs of a node, as data: what `nvidia-smi` and the device nodes are made from."""

import fcntl
import json
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stoker.sandbox.files import write_atomically

# Enough for the CUDA 13.0 of SGLang 0.5.12's torch (580 or later), of NVIDIA's open modules.
DRIVER_VERSION = "580.126.09"
_NAME = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
_NAMESPACE = uuid.UUID("9d7a4c0e-6a52-4a0f-9f6b-1d7c2a5e5b10")

GpuState = dict[str, Any]


def _gpu(owner: str, index: int) -> GpuState:
    return {
        "index": index,
        "minor": index,
        "uuid": f"GPU-{uuid.uuid5(_NAMESPACE, f'{owner}/{index}')}",
        "bdf": f"00000000:{0x10 * index + 1:02X}:00.0",
        "name": _NAME,
        "memory_mib": 97887,
        "reserved_mib": 638,
        "baseline_mib": 2,
        "persistence": True,
    }


def initial(owner: str, count: int) -> GpuState:
    """The state of a healthy node with `count` GPUs; UUIDs depend on `owner` and index alone."""
    return {
        "stand_in": "these GPUs do not exist; see stoker/sandbox/gpu.py",
        "driver_version": DRIVER_VERSION,
        "gpus": [_gpu(owner, index) for index in range(count)],
        "holder_memory_mib": 20480,
        "boots": 0,
        "uvm_loads": 0,
        "modules": ["nvidia", "nvidia_modeset", "nvidia_drm", "nvidia_uvm"],
        "nodes": {},
        "majors": {},
        "kernel_log": [],
        "failures": {},
    }


def read(path: Path) -> GpuState:
    """The state file of a node."""
    state: GpuState = json.loads(path.read_text())
    return state


def write(path: Path, state: GpuState) -> None:
    """Put it in place; containers see it through a read-only mount of the directory."""
    write_atomically(path, json.dumps(state, indent=2) + "\n")


@contextmanager
def changing(path: Path) -> Iterator[GpuState]:
    """The state of a node to be changed; nobody else changes it meanwhile, it is then put back."""
    with (path.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = read(path)
        yield state
        write(path, state)


def node_paths(minors: Iterable[int]) -> list[str]:
    """The device nodes a container needs for GPUs of those minors."""
    names = [f"nvidia{minor}" for minor in minors]
    return [f"/dev/{name}" for name in (*names, "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")]
