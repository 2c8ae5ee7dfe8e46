"""STAND-IN for nvidia-smi on the sandbox's nodes and in their containers.

Answers -L, --query-gpu, --query-compute-apps, -q -x, -pm and -r from the state file and from the
processes that really hold the device nodes. What it does not know it refuses, as the real one.
"""

from __future__ import annotations

import sys
from typing import Dict, List, Optional, Sequence

from . import (
    gpu_holders,
    gpu_log,
    gpu_observed,
    gpu_state,
    nvidia_driver,
    nvidia_fields,
    nvidia_xml,
)
from .gpu_memory import Memory
from .gpu_state import State
from .nvidia_driver import Answer

SHORT = {
    "-L": "--list-gpus",
    "-q": "--query",
    "-x": "--xml-format",
    "-i": "--id",
    "-pm": "--persistence-mode",
    "-r": "--gpu-reset",
}
VALUED = ("--query-gpu", "--query-compute-apps", "--format", "--id", "--persistence-mode")
IN_USE = (
    "currently being used by one or more other processes (e.g., Fabric Manager, CUDA application, "
    "graphics application such as an X server, or a monitoring application such as another "
    "instance of nvidia-smi). Please first kill all processes using this device."
)
PLAIN = ("--list-gpus", "--query", "--xml-format", "--gpu-reset", "--version")


def parse(words: Sequence[str]) -> Dict[str, str]:
    """Long option -> value, "" where it takes none."""
    options: Dict[str, str] = {}
    waiting = list(words)
    while waiting:
        name, equals, value = waiting.pop(0).partition("=")
        name = SHORT.get(name, name)
        if name not in VALUED + PLAIN or (name in PLAIN and equals):
            raise Answer(2, f"Invalid combination of input arguments. Unknown option {name}")
        if name in VALUED and not equals:
            if not waiting:
                raise Answer(2, f"Option {name} is missing its value.")
            value = waiting.pop(0)
        options[name] = value
    return options


def selected(gpus: List[State], wanted: str) -> List[State]:
    """The GPUs that -i names by index, UUID or bus id; all of them without it."""
    if not wanted:
        return gpus
    names = wanted.split(",")
    found = [g for g in gpus if {str(g["index"]), g["uuid"], g["bdf"]} & set(names)]
    if not found:
        raise Answer(6, "No devices were found")
    return found


def lost(gpus: List[State], state: State) -> None:
    """`Answer` for the first GPU of these that has no handle any more."""
    handles = state["failures"].get("handles", {})
    for gpu in gpus:
        error = handles.get(gpu["uuid"])
        if error:
            more = ".  Reboot the system to recover this GPU" if error == "GPU is lost" else ""
            text = f"Unable to determine the device handle for GPU{gpu['bdf'][4:]}: {error}{more}"
            raise Answer(15 if error == "GPU is lost" else 255, text)


def csv(header: List[str], rows: List[List[str]], layout: str) -> str:
    """The rows as `--format` wants them; a format other than csv is refused."""
    wanted = layout.split(",")
    if "csv" not in wanted:
        raise Answer(2, '"--format=" must be specified and contain "csv".')
    lines = [", ".join(row) for row in rows]
    return "\n".join(lines if "noheader" in wanted else [", ".join(header), *lines])


def query(kind: str, names: List[str], gpus: List[State], memory: Memory, layout: str) -> str:
    """A table of GPUs or of processes; one unknown field fails it all."""
    known = nvidia_fields.GPU if kind == "gpu" else nvidia_fields.PROCESS
    for name in names:
        if name not in known:
            raise Answer(2, f'Field "{name}" is not a valid field to query.\n')
    with_units = "nounits" not in layout.split(",")
    header = [f"{name} [{known[name][0]}]" if known[name][0] else name for name in names]
    if kind == "gpu":
        rows = [nvidia_fields.gpu_row(gpu, memory, names, with_units) for gpu in gpus]
    else:
        rows = nvidia_fields.process_rows(gpus, memory, names, with_units)
    return csv(header, rows, layout)


def persist(gpus: List[State], value: str, memory: Memory) -> str:
    """`-pm 0|1` for these GPUs; with no holder a bounce frees what hung on nothing else."""
    if not memory.on_node:
        raise Answer(4, "Unable to set persistence mode: Insufficient Permissions")
    word, told = ("Enabled" if value == "1" else "Disabled"), ""
    with gpu_state.changing(memory.directory) as state:
        for gpu in selected(state["gpus"], ",".join(g["uuid"] for g in gpus)):
            already = gpu["persistence"] == (value == "1")
            is_already = f"Persistence mode is already {word} for GPU {gpu['bdf']}.\n"
            told += is_already if already else f"{word} persistence mode for GPU {gpu['bdf']}.\n"
            gpu["persistence"] = value == "1"
            mode = gpu_observed.residue_of(gpu, state).get("mode")
            bounced = value == "0" and not already and not memory.count(gpu)
            if bounced and mode == "release-after-persistence-bounce":
                del state["failures"]["memory"]
    return told + "All done."


def in_use(gpus: List[State], memory: Memory) -> List[State]:
    """Those that somebody holds; who has only a control node open may hold any of them."""
    own = {tuple(number) for name, number in memory.state["nodes"].items() if name[6:].isdigit()}
    if any(not holder.devices & own for holder in memory.holders):
        return gpus
    return [gpu for gpu in gpus if memory.count(gpu)]


def reset(gpus: List[State], memory: Memory) -> str:
    """`-r`: refused while anyone holds the GPU; ends residues unless told to fail otherwise."""
    if not memory.on_node:
        raise Answer(4, "Unable to reset this GPU: Insufficient Permissions")
    mode = memory.state["failures"].get("reset")
    if mode == "hang":
        nvidia_driver.hang()
    if mode == "unsupported":
        raise Answer(3, "".join(f"Resetting GPU {g['bdf']} is not supported.\n" for g in gpus))
    busy = gpus if mode == "in-use" else in_use(gpus, memory)
    if busy:
        named = "".join(f"  GPU {g['bdf']}: In use by another client\n" for g in busy)
        text = f"The following GPUs could not be reset:\n{named}\n{len(busy)} device(s) "
        raise Answer(255, text + IN_USE)
    if mode != "leaves-memory":
        with gpu_state.changing(memory.directory) as state:
            for gpu in gpus:
                _after_reset(gpu, state)
    return "".join(f"GPU {g['bdf']} was successfully reset.\n" for g in gpus) + "All done."


def _after_reset(gpu: State, state: State) -> None:
    failures = state["failures"]
    if gpu_observed.residue_of(gpu, state).get("mode") not in (None, "release-after-uvm-reload"):
        del failures["memory"]
    failures.get("fields", {}).pop(gpu["uuid"], None)
    if failures.get("recovery_action", {}).pop(gpu["uuid"], None):
        text = gpu_log.recovery_action(gpu, "Reset", "None")
        state.setdefault("kernel_log", []).append(gpu_log.now(text))


def answer(words: Sequence[str], directory: str, proc: str, dev: str, cgroup: str) -> str:
    """The text for stdout; `Answer` where it ends otherwise."""
    state = gpu_state.load(directory)
    gpus = nvidia_driver.reach(state, dev)
    options = parse(words)
    gpus = selected(gpus, options.get("--id", ""))
    memory = Memory(state, gpu_holders.of_node(proc, state), directory, cgroup)
    lost(gpus, state)
    if "--list-gpus" in options:
        return "\n".join(f"GPU {g['index']}: {g['name']} (UUID: {g['uuid']})" for g in gpus)
    if "--gpu-reset" in options:
        return reset(gpus, memory)
    if "--persistence-mode" in options:
        return persist(gpus, options["--persistence-mode"], memory)
    layout = options.get("--format", "")
    for kind, name in (("gpu", "--query-gpu"), ("process", "--query-compute-apps")):
        if name in options:
            names = [field.strip() for field in options[name].split(",")]
            return query(kind, names, gpus, memory, layout)
    if "--query" in options and "--xml-format" in options:
        return nvidia_xml.document(gpus, memory).rstrip("\n")
    names = ["index", "name", "memory.used", "memory.total"]
    head = f"NVIDIA-SMI {state['driver_version']} (stand-in of the sandbox)   CUDA Version: 13.0\n"
    return head + query("gpu", names, gpus, memory, "csv")


def main(
    words: Optional[Sequence[str]] = None,
    directory: str = gpu_state.DIRECTORY,
    proc: str = "/proc",
    dev: str = "/dev",
    cgroup: str = "/sys/fs/cgroup",
) -> int:
    """Print the answer; give the exit code of the real program in that state."""
    try:
        text = answer(sys.argv[1:] if words is None else words, directory, proc, dev, cgroup)
    except Answer as ended:
        print(ended.text)
        return ended.code
    if text:
        print(text)
    return 0
