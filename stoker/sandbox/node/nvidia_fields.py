"""Stand-in: the fields of `nvidia-smi --query-gpu` and `--query-compute-apps`."""

from __future__ import annotations

from typing import Callable, Dict, List, Tuple

from .gpu_holders import Holder
from .gpu_memory import Memory
from .gpu_state import State

# Name -> (unit or "", value). A value that no query can know is what the real one prints: [N/A].
GpuField = Tuple[str, Callable[[State, Memory], str]]


def utilization(gpu: State, memory: Memory) -> str:
    """Busy if held; a latch keeps 100 % without any holder (lium-io#1142)."""
    latched = gpu["uuid"] in memory.state["failures"].get("utilization_latch", [])
    return "100" if latched else "7" if memory.count(gpu) else "0"


def recovery_action(gpu: State, memory: Memory) -> str:
    """None, Reset, Reboot, Drain P2P or Drain and Reset."""
    actions: Dict[str, str] = memory.state["failures"].get("recovery_action", {})
    return actions.get(gpu["uuid"], "None")


def free(gpu: State, memory: Memory) -> int:
    """Neither reserved nor used, MiB."""
    total, reserved = int(gpu["memory_mib"]), int(gpu["reserved_mib"])
    return total - reserved - memory.used_mib(gpu)


GPU: Dict[str, GpuField] = {
    "index": ("", lambda g, m: str(g["index"])),
    "count": ("", lambda g, m: str(len(m.state["gpus"]))),
    "uuid": ("", lambda g, m: str(g["uuid"])),
    "gpu_uuid": ("", lambda g, m: str(g["uuid"])),
    "name": ("", lambda g, m: str(g["name"])),
    "gpu_name": ("", lambda g, m: str(g["name"])),
    "pci.bus_id": ("", lambda g, m: str(g["bdf"])),
    "gpu_bus_id": ("", lambda g, m: str(g["bdf"])),
    "driver_version": ("", lambda g, m: str(m.state["driver_version"])),
    "compute_cap": ("", lambda g, m: "12.0"),
    "persistence_mode": ("", lambda g, m: "Enabled" if g["persistence"] else "Disabled"),
    "memory.total": ("MiB", lambda g, m: str(g["memory_mib"])),
    "memory.reserved": ("MiB", lambda g, m: str(g["reserved_mib"])),
    "memory.used": ("MiB", lambda g, m: str(m.used_mib(g))),
    "memory.free": ("MiB", lambda g, m: str(free(g, m))),
    "utilization.gpu": ("%", utilization),
    "utilization.memory": ("%", lambda g, m: "0"),
    "temperature.gpu": ("", lambda g, m: "31"),
    "power.draw": ("W", lambda g, m: "14.02"),
    "power.limit": ("W", lambda g, m: "600.00"),
    "power.default_limit": ("W", lambda g, m: "600.00"),
    "power.min_limit": ("W", lambda g, m: "300.00"),
    "power.max_limit": ("W", lambda g, m: "600.00"),
    "pstate": ("", lambda g, m: "P0" if m.count(g) else "P8"),
    "compute_mode": ("", lambda g, m: "Default"),
    "mig.mode.current": ("", lambda g, m: "Disabled"),
    "ecc.mode.current": ("", lambda g, m: "Enabled"),
    "ecc.errors.uncorrected.volatile.total": ("", lambda g, m: "0"),
    "remapped_rows.pending": ("", lambda g, m: "No"),
    "remapped_rows.failure": ("", lambda g, m: "No"),
    "gpu_recovery_action": ("", recovery_action),
}

Process = Tuple[State, Holder, int]
PROCESS: Dict[str, Tuple[str, Callable[[Process], str]]] = {
    "gpu_uuid": ("", lambda p: str(p[0]["uuid"])),
    "gpu_bus_id": ("", lambda p: str(p[0]["bdf"])),
    "gpu_name": ("", lambda p: str(p[0]["name"])),
    "pid": ("", lambda p: str(p[1].pid)),
    "process_name": ("", lambda p: p[1].name),
    "name": ("", lambda p: p[1].name),
    "used_gpu_memory": ("MiB", lambda p: str(p[2])),
    "used_memory": ("MiB", lambda p: str(p[2])),
}


def fault(gpu: State, state: State) -> str:
    """The error every field of a GPU in that state is replaced by; empty if it is well."""
    faults: Dict[str, str] = state["failures"].get("fields", {})
    return faults.get(gpu["uuid"], "")


# What a GPU with a fault still tells; NVML has the recovery action for just this case.
IDENTITY = ("index", "uuid", "pci.bus_id", "name", "gpu_recovery_action")


def gpu_row(gpu: State, memory: Memory, names: List[str], with_units: bool) -> List[str]:
    """One GPU's values; of a GPU with a fault only its identity can be read."""
    row = []
    for name in names:
        unit, value = GPU[name]
        told = value(gpu, memory)
        if fault(gpu, memory.state) and name not in IDENTITY:
            row.append(f"[{fault(gpu, memory.state)}]")
        else:
            row.append(f"{told} {unit}" if unit and with_units else told)
    return row


def process_rows(
    gpus: List[State], memory: Memory, names: List[str], with_units: bool
) -> List[List[str]]:
    """One row for each GPU a process holds."""
    each = int(memory.state["holder_memory_mib"])
    rows = []
    for gpu in gpus:
        for holder in memory.of(gpu):
            told = [(PROCESS[name][0], PROCESS[name][1]((gpu, holder, each))) for name in names]
            rows.append([f"{v} {u}" if u and with_units else v for u, v in told])
    return rows
