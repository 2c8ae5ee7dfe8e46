"""Stand-in: the files by which a loaded NVIDIA driver shows itself, in a tree of their own.

`/var/lib/stoker-gpu/kernel` looks like the root of a node with that driver as far as `/proc` and
`/sys` tell of it: what is there follows from the state, the injected failures and the holders.
Beside it lie what no real node has: `nodes.json`, the numbers of the device nodes, since those of
major 195 cannot be opened without a driver; `installed`, the version that `modinfo` tells; and
`kernel.log`, for the kernel's own log, which a node of the sandbox shares with the machine it runs
on.
"""

from __future__ import annotations

import json
import os
from typing import Dict, List, Set, Union

from . import gpu_observed
from .gpu_holders import Holder
from .gpu_state import State

NAME = "kernel"
# Module -> the modules that use it.
USERS = {
    "nvidia": ("nvidia_modeset", "nvidia_uvm"),
    "nvidia_modeset": ("nvidia_drm",),
    "nvidia_drm": (),
    "nvidia_uvm": (),
}
NEWER = "580.142"
# A link is a tuple of its target.
Tree = Dict[str, Union[bytes, "tuple[str]"]]


def modules(state: State) -> List[str]:
    """Those that are loaded; an injected `not-loaded` is that none is."""
    if state["failures"].get("driver") == "not-loaded":
        return []
    return list(state.get("modules", USERS))


def installed(state: State) -> str:
    """Version of the module on disk, which the next boot loads.

    It is another one after an upgrade, and with an injected mismatch.
    """
    newer = state["failures"].get("driver") == "mismatch"
    return NEWER if newer else str(state.get("installed_version", state["driver_version"]))


def refcnt(module: str, state: State, holders: List[Holder]) -> int:
    """References to a module: modules that use it, and processes with one of its nodes."""
    names = [name for name in state["nodes"] if name.startswith("nvidia-uvm")]
    if module == "nvidia":
        names = [name for name in state["nodes"] if name not in names]
    elif module != "nvidia_uvm":
        names = []
    numbers = {tuple(state["nodes"][name]) for name in names}
    users = set(USERS[module]) & set(modules(state))
    return len(users) + sum(len(holder.devices & numbers) for holder in holders)


def tree(state: State, holders: List[Holder]) -> Tree:
    """Content by path; a link is a tuple of its target."""
    loaded = modules(state)
    files: Tree = {
        "nodes.json": (json.dumps(state["nodes"], indent=2) + "\n").encode(),
        "kernel.log": "".join(line + "\n" for line in state.get("kernel_log", [])).encode(),
        "proc/devices": _devices(state, loaded).encode(),
        "modinfo": f"{installed(state)}\n".encode(),
    }
    for gpu in state["gpus"]:
        files.update(_pci(gpu, state, bool(loaded)))
    for module in loaded:
        base = f"sys/module/{module}"
        files[f"{base}/version"] = f"{state['driver_version']}\n".encode()
        files[f"{base}/refcnt"] = f"{refcnt(module, state, holders)}\n".encode()
    if "nvidia" in loaded:
        files["proc/driver/nvidia/version"] = _version(state).encode()
        for gpu in state["gpus"] if state["failures"].get("driver") != "no-devices" else []:
            path = f"proc/driver/nvidia/gpus/{bdf(gpu)}/information"
            files[path] = _information(gpu, state).encode()
    if "nvidia_uvm" in loaded:
        files.update(_uvm(state, holders))
    return files


def bdf(gpu: State) -> str:
    """Its PCI address as sysfs writes it."""
    return str(gpu["bdf"])[4:].lower()


def _devices(state: State, loaded: List[str]) -> str:
    majors = state["majors"]
    lines = []
    if "nvidia" in loaded and majors:
        lines += [f"{majors['nvidia']:3} nvidia", f"{majors['nvidia']:3} nvidiactl"]
    if "nvidia_uvm" in loaded and majors:
        lines.append(f"{majors['nvidia-uvm']:3} nvidia-uvm")
    return "Character devices:\n  1 mem\n" + "".join(f"{line}\n" for line in lines)


def _version(state: State) -> str:
    version = state["driver_version"]
    return (
        f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build  "
        "(stand-in)\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"
    )


def _information(gpu: State, state: State) -> str:
    rows = {
        "Model": gpu["name"],
        "IRQ": "0",
        "GPU UUID": gpu["uuid"],
        "Video BIOS": "??.??.??.??.??",
        "Bus Type": "PCIe",
        "DMA Size": "52 bits",
        "DMA Mask": "0xfffffffffffff",
        "Bus Location": bdf(gpu),
        "Device Minor": str(gpu["minor"]),
        "GPU Firmware": state["driver_version"],
        "GPU Excluded": "No",
    }
    return "".join(f"{name}: \t {value}\n" for name, value in rows.items())


def _pci(gpu: State, state: State, bound: bool) -> Tree:
    base = f"sys/bus/pci/devices/{bdf(gpu)}"
    lost = state["failures"].get("handles", {}).get(gpu["uuid"]) == "GPU is lost"
    # Vendor, device (RTX PRO 6000 Server Edition), command, status, revision, class 0x030200.
    config = bytes.fromhex("de10b52b 0604 1000 a1 00 02 03 00 00 00 00") + bytes(48)
    files: Tree = {
        f"{base}/vendor": b"0x10de\n",
        f"{base}/device": b"0x2bb5\n",
        f"{base}/class": b"0x030200\n",
        f"{base}/config": b"\xff" * 64 if lost else config,
        f"{base}/reset_method": b"flr bus\n",
    }
    if bound:
        files[f"{base}/driver"] = ("../../drivers/nvidia",)
        files["sys/bus/pci/drivers/nvidia/module"] = ("../../../../module/nvidia",)
    return files


def _uvm(state: State, holders: List[Holder]) -> Tree:
    """UVM's view of each GPU that it has registered: one that is held, or that it keeps."""
    number = tuple(state["nodes"].get("nvidia-uvm", ()))
    files: Tree = {}
    for gpu in state["gpus"]:
        own = gpu_observed.holders_of(gpu, state, holders)
        kept = int(state["failures"].get("uvm", {}).get(gpu["uuid"], 0))
        count = kept + sum(number in holder.devices for holder in own)
        if count:
            path = f"proc/driver/nvidia-uvm/gpus/{gpu['uuid']}/0/info"
            files[path] = f"retained_count    {count}\n".encode()
    return files


def write(directory: str, wanted: Tree) -> None:
    """Make the tree below the GPUs' directory this one; what is not in it goes."""
    root = os.path.join(directory, NAME)
    kept: Set[str] = set()
    for name, content in wanted.items():
        path = os.path.join(root, name)
        kept.add(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if _found(path) != content:
            _put(path, content)
    for folder, _folders, names in os.walk(root, topdown=False):
        for name in names + _folders:
            path = os.path.join(folder, name)
            if path in kept:
                continue
            if os.path.isdir(path) and not os.path.islink(path):
                if not os.listdir(path):
                    os.rmdir(path)
            else:
                os.unlink(path)


def _found(path: str) -> "bytes | tuple[str] | None":
    if os.path.islink(path):
        return (os.readlink(path),)
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return None


def _put(path: str, content: "bytes | tuple[str]") -> None:
    temporary = f"{path}.{os.getpid()}"
    if isinstance(content, tuple):
        os.symlink(content[0], temporary)
    else:
        with open(temporary, "wb") as stream:
            stream.write(content)
    os.replace(temporary, path)
