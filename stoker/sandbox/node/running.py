"""Stand-in: what runs, found as Proxmox finds it: the command sockets of LXC's monitors."""

from __future__ import annotations

import os
import re
import subprocess
import time
from typing import Dict, Set

SOCKET = re.compile(r" @/var/lib/lxc/(\d+)/command$")


def vmids() -> Set[int]:
    """The ids of containers whose monitor listens on its command socket."""
    with open("/proc/net/unix") as sockets:
        found = (SOCKET.search(line.rstrip("\n")) for line in sockets)
        return {int(match.group(1)) for match in found if match}


def is_running(vmid: int) -> bool:
    """Whether the container runs; a frozen one does."""
    return vmid in vmids()


def init_pid(vmid: int) -> int:
    """The node's pid of the container's init, 0 where it does not run."""
    words = ["lxc-info", "-n", str(vmid), "-p", "-H"]
    answer = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return int(answer.stdout.strip() or 0)


def details(vmid: int) -> Dict[str, int]:
    """pid and uptime in seconds of a running container, nothing for a stopped one."""
    pid = init_pid(vmid) if is_running(vmid) else 0
    if not pid:
        return {}
    with open(f"/proc/{pid}/stat") as file:
        start_ticks = int(file.read().rsplit(")", 1)[1].split()[19])
    with open("/proc/uptime") as file:
        node_uptime = float(file.read().split()[0])
    return {"pid": pid, "uptime": int(node_uptime - start_ticks / os.sysconf("SC_CLK_TCK"))}


def wait_stopped(vmid: int, timeout_s: float) -> bool:
    """Wait until the container's monitor is gone; False where it still is after the time-out."""
    deadline = time.monotonic() + timeout_s
    while is_running(vmid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
