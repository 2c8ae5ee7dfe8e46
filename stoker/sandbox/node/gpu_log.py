"""Stand-in: recorded lines of the kernel log, as `journalctl -k -o short-unix` writes them.

No Xid can be provoked here. The texts are the driver's own (open kernel modules, and reports of
users), with this node's addresses put in; nothing was really logged by a kernel.
"""

from __future__ import annotations

import os
import time
from typing import List

from .gpu_state import State

# Recovery action as nvidia-smi says it -> (number, the kernel log's word): gpu.c of the open
# kernel modules 595.
ACTIONS = {
    "None": ("0x0", "None"),
    "Reset": ("0x1", "GPU Reset Required"),
    "Reboot": ("0x2", "Node Reboot Required"),
    "Drain P2P": ("0x3", "Drain P2P"),
    "Drain and Reset": ("0x4", "Drain and Reset"),
}


def now(text: str) -> str:
    """A message of this moment and this node."""
    return line(text, time.time(), os.uname().nodename)


def line(text: str, at: float, host: str) -> str:
    """One message; the further lines of its text are indented as journalctl does."""
    head = f"{at:.6f} {host} kernel: "
    return head + text.replace("\n", "\n" + " " * len(head))


def _xid(gpu: State, number: int, text: str) -> str:
    # The kernel's address has four digits of domain and no function: 0000:01:00.
    address = gpu["bdf"][4:].lower().partition(".")[0]
    return f"NVRM: Xid (PCI:{address}): {number}, {text}"


def recovery_action(gpu: State, before: str, after: str) -> str:
    """Xid 154, which the driver writes at each change of the action."""
    one, other = (f"{number} ({word})" for number, word in (ACTIONS[before], ACTIONS[after]))
    return _xid(gpu, 154, f"GPU recovery action changed from {one} to {other}")


def loaded(version: str) -> str:
    """What the module says when it is loaded."""
    return f"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build"


def fallen(gpu: State) -> List[str]:
    """A GPU that fell off the bus."""
    unknown = "pid='<unknown>', name=<unknown>"
    return [
        _xid(gpu, 79, f"{unknown}, GPU has fallen off the bus."),
        f"NVRM: GPU {gpu['bdf'][4:].lower()}: GPU has fallen off the bus.",
        recovery_action(gpu, "None", "Reboot"),
    ]


def silent_gsp(gpu: State) -> List[str]:
    """A GPU whose system processor answers no more."""
    waited = f"Timeout after 6s of waiting for RPC response from GPU{gpu['minor']} GSP!"
    call = "Expected function 76 (GSP_RM_CONTROL) (0x20802068 0x4)."
    return [
        _xid(gpu, 119, f"pid=4242, name=nvidia-smi, {waited} {call}"),
        recovery_action(gpu, "None", "Reset"),
    ]


def mismatch(library: str, module: str) -> List[str]:
    """A client whose library has another version than the module; one message of five lines."""
    return [
        "NVRM: API mismatch: the client 'nvidia-smi' (pid 4242)\n"
        f"NVRM: has the version {library}, but this kernel module has\n"
        f"NVRM: the version {module}.  Please make sure that this\n"
        "NVRM: kernel module and all NVIDIA driver components\n"
        "NVRM: have the same version."
    ]
