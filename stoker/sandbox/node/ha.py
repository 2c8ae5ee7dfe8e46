"""Stand-in: high availability: what /etc/pve/ha/resources.cfg says, and requests to it.

There is one node to run on, so the manager is a short-lived process that does what it was asked.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import Dict

from . import cluster

ACT = "/usr/lib/stoker-sandbox/hook.py"


def resources_file() -> str:
    """Where the cluster keeps its managed resources."""
    return f"{cluster.ROOT}/ha/resources.cfg"


def resources() -> Dict[int, str]:
    """The requested state of every managed container; empty where nothing is managed."""
    if not os.path.exists(resources_file()):
        return {}
    with open(resources_file()) as file:
        return parse(file.read())


def parse(text: str) -> Dict[int, str]:
    """The containers and states of a resources.cfg."""
    found: Dict[int, str] = {}
    vmid = 0
    for line in text.splitlines():
        header = re.fullmatch(r"ct:\s*(\d+)\s*", line)
        state = re.fullmatch(r"\s+state\s+(\S+)\s*", line)
        if header:
            vmid = int(header.group(1))
            found[vmid] = "started"
        elif state and vmid:
            found[vmid] = state.group(1)
    return found


def render(wanted: Dict[int, str]) -> str:
    """The text of a resources.cfg."""
    return "\n".join(f"ct: {vmid}\n\tstate {wanted[vmid]}\n" for vmid in sorted(wanted))


def save(wanted: Dict[int, str]) -> None:
    """Write the managed resources, whole or not at all."""
    os.makedirs(os.path.dirname(resources_file()), exist_ok=True)
    temporary = f"{resources_file()}.tmp.{os.getpid()}"
    with open(temporary, "w") as file:
        file.write(render(wanted))
    os.rename(temporary, resources_file())


def manages(vmid: int) -> bool:
    """Whether the container is under high availability and not ignored by it."""
    return resources().get(vmid, "ignored") not in ("ignored", "disabled")


def request(vmid: int, verb: str, state: str) -> int:
    """Note the wanted state; what does it comes later, as with the real one. 0 as exit code."""
    print(f"Requesting HA {verb} for CT {vmid}")
    wanted = resources()
    wanted[vmid] = state
    save(wanted)
    carry_out(vmid, state)
    return 0


def carry_out(vmid: int, state: str) -> None:
    """Let a process of the node's systemd bring the container to that state."""
    verb = {"started": "start", "enabled": "start", "stopped": "stop"}.get(state)
    if verb is None:
        return
    words = ["systemd-run", "--quiet", "--collect", "--no-block", ACT, verb, str(vmid)]
    subprocess.run(words, check=True)
