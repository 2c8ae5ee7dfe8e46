"""STAND-IN for the NVIDIA kernel driver's device nodes, run once at every boot of a sandbox node.

Nodes of NVIDIA's own major 195 cannot be opened without the driver, so these are other character
devices that open harmlessly: screens of unused virtual consoles (major 7) as GPUs and control
node. As with the real driver the major of nvidia-uvm is another one after each boot. Which numbers
were given is written to the state file, where a scanner finds them on the sandbox only.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import Dict, List, Optional, Sequence

from . import gpu_kernel, gpu_log, gpu_observed, gpu_state
from .gpu_state import State

FIRST_SCREEN = 20  # consoles from here on are used by no getty of the outer machine


def allocate_screen(number: int) -> None:
    """Make the kernel allocate a virtual console, so that its screen device can be opened."""
    path = "/dev/stoker-gpu-tty"  # /run is mounted nodev
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(4, number))
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK))
    finally:
        os.unlink(path)


def miscellaneous(name: str) -> Optional[List[int]]:
    """Number of one of the kernel's miscellaneous devices, None if it is not there."""
    with open("/proc/misc") as stream:
        found = {line.split()[1]: int(line.split()[0]) for line in stream}
    return [10, found[name]] if name in found else None


def uvm_pair(boots: int) -> List[List[int]]:
    """Numbers of nvidia-uvm and nvidia-uvm-tools for the boot with that count."""
    screens = [[7, FIRST_SCREEN + 40], [7, FIRST_SCREEN + 41]]
    found = [miscellaneous("vga_arbiter"), miscellaneous("cpu_dma_latency")]
    others = [number for number in found if number]
    return others if boots % 2 and len(others) == 2 else screens


def numbers(minors: Sequence[int], boots: int) -> Dict[str, List[int]]:
    """Device numbers by node name for GPUs of those minors."""
    found = {"nvidia%d" % minor: [7, FIRST_SCREEN + minor] for minor in minors}
    found["nvidiactl"] = [7, FIRST_SCREEN + 39]
    found["nvidia-uvm"], found["nvidia-uvm-tools"] = uvm_pair(boots)
    return found


def make(directory: str, nodes: Dict[str, List[int]]) -> None:
    """Create the device nodes, world-writable as nvidia-modprobe leaves them."""
    for name, (major, minor) in nodes.items():
        path = os.path.join(directory, name)
        if os.path.lexists(path):
            os.unlink(path)
        if major == 7:
            allocate_screen(minor)
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(major, minor))
        os.chmod(path, 0o666)


def major_numbers(nodes: Dict[str, List[int]]) -> Dict[str, int]:
    """The majors of the driver's two kinds of nodes, of one that is not there none."""
    found = {"nvidia": "nvidiactl", "nvidia-uvm": "nvidia-uvm"}
    return {name: nodes[node][0] for name, node in found.items() if node in nodes}


def is_uvm(name: str) -> bool:
    """Whether a node is one of nvidia_uvm's."""
    return name.startswith("nvidia-uvm")


def boot(state: State) -> None:
    """What a boot of the node makes of its GPUs' state."""
    state["boots"] += 1
    state["uvm_loads"] = 0
    state["driver_version"] = state.pop("installed_version", state["driver_version"])
    state["modules"] = list(gpu_kernel.USERS)
    state["nodes"] = numbers([gpu["minor"] for gpu in state["gpus"]], state["boots"])
    if state.get("lazy_nodes"):
        # udev loads nvidia for the PCI device; nobody has asked for nvidia_uvm yet.
        state["modules"].remove("nvidia_uvm")
        state["nodes"] = {name: n for name, n in state["nodes"].items() if not is_uvm(name)}
    state["majors"] = major_numbers(state["nodes"])
    state["kernel_log"] = [gpu_log.now(gpu_log.loaded(state["driver_version"]))]


def main() -> int:
    """Make the nodes of this boot."""
    directory = gpu_state.DIRECTORY
    if not os.path.exists(os.path.join(directory, "state.json")):
        return 0
    with gpu_state.changing(directory) as state:
        boot(state)
        if state["failures"].get("driver") != "not-loaded" and not state.get("lazy_nodes"):
            make("/dev", state["nodes"])
    gpu_state.save(directory, "observed.json", gpu_observed.EMPTY)
    gpu_kernel.write(directory, gpu_kernel.tree(state, []))
    return 0


if __name__ == "__main__":
    sys.exit(main())
