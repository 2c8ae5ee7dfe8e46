"""STAND-IN for modprobe, modinfo and nvidia-modprobe on the sandbox's nodes: NVIDIA's modules only.

A node shares the kernel of the machine it runs on, so nothing here loads or unloads anything:
what is "loaded" is a list in the GPUs' state. A module that is in use stays, as the real one; the
number of references is that of the processes which really hold its nodes.
"""

from __future__ import annotations

import os
import sys
from typing import Callable, Dict, List, Sequence

from . import gpu_holders, gpu_kernel, gpu_log, gpu_nodes, gpu_observer, gpu_state
from .gpu_holders import Holder
from .gpu_state import State

DEPENDENCIES = {
    "nvidia": (),
    "nvidia_modeset": ("nvidia",),
    "nvidia_drm": ("nvidia_modeset",),
    "nvidia_uvm": ("nvidia",),
}
QUIET = ("-q", "--quiet", "-v", "--verbose", "-a", "--all")
REMOVE = ("-r", "--remove")


class Failed(Exception):  # noqa: N818 - it is modprobe's word
    """The sentence modprobe ends with; its exit code is then 1."""


def absent(name: str) -> Failed:
    """What a module gives that is neither loaded nor on disk."""
    where = f"/lib/modules/{os.uname().release}"
    return Failed(f"modprobe: FATAL: Module {name} not found in directory {where}")


def load(name: str, state: State, dev: str = "/dev") -> None:
    """The module and those it needs are loaded; its nodes are new ones."""
    state["modules"] = gpu_kernel.modules(state)
    if state["failures"].get("driver") == "not-loaded":
        del state["failures"]["driver"]
    for needed in DEPENDENCIES[name]:
        load(needed, state, dev)
    if name in state["modules"]:
        return
    state["modules"].append(name)
    if name == "nvidia":
        text = gpu_log.now(gpu_log.loaded(state["driver_version"]))
        state.setdefault("kernel_log", []).append(text)
    if name in ("nvidia", "nvidia_uvm"):
        renumber(state, name, dev)


def renumber(state: State, name: str, dev: str) -> None:
    """Give the nodes of a module that was just loaded their numbers, and make them."""
    if name == "nvidia_uvm":
        state["uvm_loads"] = state.get("uvm_loads", 0) + 1
    loads = state["boots"] + state.get("uvm_loads", 0)
    every = gpu_nodes.numbers([gpu["minor"] for gpu in state["gpus"]], loads)
    own = {node: every[node] for node in every if gpu_nodes.is_uvm(node) == (name == "nvidia_uvm")}
    state["nodes"].update(own)
    state["majors"] = gpu_nodes.major_numbers(state["nodes"])
    if not state.get("lazy_nodes"):
        gpu_nodes.make(dev, own)


def unload(name: str, state: State, holders: List[Holder]) -> None:
    """It is not loaded; nor is what only it needed. `Failed` while it is in use.

    Its device nodes stay, as those that nvidia-modprobe made do.
    """
    loaded = state["modules"] = gpu_kernel.modules(state)
    if name not in loaded:
        return
    if gpu_kernel.refcnt(name, state, holders):
        raise Failed(f"modprobe: FATAL: Module {name} is in use.")
    loaded.remove(name)
    _forget(name, state)
    for needed in DEPENDENCIES[name]:
        if not gpu_kernel.refcnt(needed, state, holders):
            unload(needed, state, holders)


def _forget(name: str, state: State) -> None:
    failures = state["failures"]
    if name == "nvidia_uvm":
        failures.pop("uvm", None)
        if failures.get("memory", {}).get("mode") == "release-after-uvm-reload":
            del failures["memory"]
    if name == "nvidia" and failures.get("driver") == "mismatch":
        del failures["driver"]


def modprobe(words: Sequence[str], directory: str, proc: str, dev: str) -> int:
    """The exit code of `modprobe [-r] [-q] [-a] MODULE...`."""
    removing = any(word in REMOVE for word in words)
    names = [word.replace("-", "_") for word in words if word[0] != "-"]
    unknown = [word for word in words if word[0] == "-" and word not in QUIET + REMOVE]
    try:
        if unknown:
            raise Failed(f"modprobe: ERROR: the stand-in does not know the option {unknown[0]}")
        for name in names:
            if name not in DEPENDENCIES:
                raise absent(name)
            with gpu_state.changing(directory) as state:
                if removing:
                    unload(name, state, gpu_holders.of_node(proc, state))
                else:
                    load(name, state, dev)
    except Failed as failed:
        print(failed, file=sys.stderr)
        return 1
    finally:
        gpu_observer.Observer(directory, proc).look()
    return 0


def modinfo(words: Sequence[str], directory: str, _proc: str, _dev: str) -> int:
    """The exit code of `modinfo [-F FIELD] MODULE`: the module on disk, be it loaded or not."""
    name = words[-1].replace("-", "_") if words else ""
    if name not in DEPENDENCIES:
        print(f"modinfo: ERROR: Module {name} not found.", file=sys.stderr)
        return 1
    state = gpu_state.load(directory)
    fields = {
        "filename": f"/lib/modules/{os.uname().release}/updates/dkms/{name.replace('_', '-')}.ko",
        "version": gpu_kernel.installed(state),
        "license": "Dual MIT/GPL",
    }
    if "-F" in words or "--field" in words:
        print(fields.get(words[list(words).index("-F" if "-F" in words else "--field") + 1], ""))
    else:
        print("\n".join(f"{field}:{' ' * (15 - len(field))}{fields[field]}" for field in fields))
    return 0


def nvidia_modprobe(words: Sequence[str], directory: str, _proc: str, dev: str) -> int:
    """The exit code of `nvidia-modprobe [-u] [-c N]`: the nodes of what is loaded are there.

    Where nodes are lazy it is as strict as the real one: -u loads nvidia_uvm and makes its nodes,
    and without it only the others are made, with -c the one of that minor (255: nvidiactl).
    """
    with gpu_state.changing(directory) as state:
        lazy, uvm = state.get("lazy_nodes"), "-u" in words
        if lazy:
            load("nvidia_uvm" if uvm else "nvidia", state, dev)
        wanted = {
            name: number
            for name, number in state["nodes"].items()
            if (not lazy or (gpu_nodes.is_uvm(name) == uvm and _asked(name, uvm, words)))
            and ("nvidia_uvm" if gpu_nodes.is_uvm(name) else "nvidia") in gpu_kernel.modules(state)
            and gpu_holders.device(os.path.join(dev, name)) != tuple(number)
        }
        gpu_nodes.make(dev, wanted)
        return 0 if gpu_kernel.modules(state) else 1


def _asked(name: str, uvm: bool, words: Sequence[str]) -> bool:
    """Whether -c names this node of nvidia's; without it all are asked for."""
    minors = [words[n + 1] for n in range(len(words) - 1) if words[n] == "-c"]
    minors += [word[3:] for word in words if word.startswith("-c=")]
    files = {f"nvidia{minor}" for minor in minors} | {"nvidiactl" for m in minors if m == "255"}
    return uvm or not minors or name in files


PROGRAMS: Dict[str, Callable[[Sequence[str], str, str, str], int]] = {
    "modprobe": modprobe,
    "modinfo": modinfo,
    "nvidia-modprobe": nvidia_modprobe,
}


def main(words: Sequence[str]) -> int:
    """The exit code of the program named first."""
    return PROGRAMS[words[0]](words[1:], gpu_state.DIRECTORY, "/proc", "/dev")
