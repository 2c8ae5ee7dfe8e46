"""Stand-in: how a driver that is missing, mismatched or stuck answers, before any question.

Messages and exit codes are those of nvidia-smi 550 and its manual page; they go to stdout.
"""

from __future__ import annotations

import os
import time
from typing import Dict, List, NoReturn

from . import gpu_kernel
from .gpu_holders import device
from .gpu_state import State

LIBRARY = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: "
MESSAGES: Dict[str, "tuple[int, str]"] = {
    "not-loaded": (
        9,
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure "
        "that the latest NVIDIA driver is installed and running.\n",
    ),
    "no-library": (
        12,
        "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that "
        "the NVIDIA Display Driver is properly installed and present in your system.\n"
        "Please also try adding directory that contains libnvidia-ml.so to your system PATH.",
    ),
    "mismatch": (18, f"{MISMATCH}{gpu_kernel.NEWER}"),
    "denied": (4, "Failed to initialize NVML: Insufficient Permissions"),
    "blocked": (255, "Failed to initialize NVML: Unknown Error"),
    "no-devices": (6, "No devices were found"),
}


class Answer(Exception):  # noqa: N818 - it is not always an error
    """The text that ends the command, and its exit code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def refuse(reason: str) -> NoReturn:
    """Answer as a driver in that state does."""
    raise Answer(*MESSAGES[reason])


def hang() -> NoReturn:
    """Never answer; ends only by a signal."""
    while True:
        time.sleep(3600)


def opened(path: str) -> None:
    """Open a node and close it again; raises `Answer` where the driver could not be reached."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK))
    except PermissionError as error:
        refuse("denied" if error.errno == 13 else "blocked")
    except OSError:
        refuse("not-loaded")


def library_version() -> str:
    """Of the NVML that lies here, by its link; empty where there is none to be compared."""
    try:
        return os.readlink(LIBRARY).partition("libnvidia-ml.so.")[2]
    except OSError:
        return ""


def reach(state: State, dev: str) -> List[State]:
    """The GPUs whose nodes are here and are the driver's; `Answer` where there is no driver."""
    failures = state["failures"]
    if failures.get("smi") == "hang":
        hang()
    if failures.get("driver"):
        refuse(failures["driver"])
    if "nvidia" not in state.get("modules", ["nvidia"]):
        refuse("not-loaded")
    library = library_version()
    if library not in ("", state["driver_version"]):
        # It says the first two numbers of a version alone.
        raise Answer(18, MISMATCH + ".".join(library.split(".")[:2]))
    opened(os.path.join(dev, "nvidiactl"))
    gpus = [
        gpu
        for gpu in state["gpus"]
        if device(os.path.join(dev, f"nvidia{gpu['minor']}"))
        == tuple(state["nodes"].get(f"nvidia{gpu['minor']}", ()))
    ]
    if not gpus:
        refuse("no-devices")
    return gpus
