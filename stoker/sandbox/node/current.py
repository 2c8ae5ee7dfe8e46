"""Stand-in: a container's present state, as the API's status/current has it."""

from __future__ import annotations

import os
from typing import Dict, Optional, Union

from . import conf, ha, property_string, running, volumes

Value = Union[int, float, str]


def status(vmid: int, config: conf.Config, up: Optional[bool] = None) -> Dict[str, Value]:
    """Every value that `pct status --verbose` prints; memory and disk in bytes.

    `up`: whether it runs, where that is known already.
    """
    keys = config.now.keys
    details = {} if up is False else running.details(vmid)
    found: Dict[str, Value] = {
        "vmid": vmid,
        "type": "lxc",
        "name": keys.get("hostname", f"CT{vmid}"),
        "status": "running" if details else "stopped",
        "cpus": int(keys.get("cores", str(os.cpu_count()))),
        "cpu": 0,
        "maxmem": int(keys.get("memory", "512")) << 20,
        "maxswap": int(keys.get("swap", "512")) << 20,
        "maxdisk": _disk_size(keys.get("rootfs", "")),
        "uptime": details.get("uptime", 0),
        **dict.fromkeys(("mem", "swap", "disk", "netin", "netout", "diskread", "diskwrite"), 0),
    }
    if details:
        found["pid"] = details["pid"]
        found["mem"] = _memory(vmid)
    for name in ("lock", "tags"):
        if name in keys:
            found[name] = keys[name]
    found["ha"] = str(int(ha.manages(vmid)))
    return found


def _disk_size(rootfs: str) -> int:
    size = property_string.parse(rootfs, property_string.ROOTFS).get("size", "0")
    return volumes.volume_bytes(size)


def _memory(vmid: int) -> int:
    path = f"/sys/fs/cgroup/lxc/{vmid}/memory.current"
    if not os.path.exists(path):
        return 0
    with open(path) as file:
        return int(file.read())
