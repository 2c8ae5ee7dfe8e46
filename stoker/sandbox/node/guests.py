"""Stand-in: the guests of a node at its boot and at its end."""

from __future__ import annotations

import sys
import time
from typing import Dict, List, Mapping, Tuple

from . import lifecycle, property_string, running, store
from .died import Died

LAST = 1 << 30


def order(configs: Mapping[int, Mapping[str, str]]) -> List[int]:
    """The ids in the order they start: by `startup: order=`, those without it last, then by id."""

    def place(vmid: int) -> Tuple[int, int]:
        return int(_startup(configs[vmid]).get("order", LAST)), vmid

    return sorted(configs, key=place)


def _startup(keys: Mapping[str, str]) -> Dict[str, str]:
    return property_string.parse(keys.get("startup", ""), property_string.STARTUP)


def start_all() -> int:
    """Start every stopped guest with `onboot: 1`; one that fails does not stop the others."""
    configs = {vmid: store.load(vmid).now.keys for vmid in store.vmids()}
    for vmid in order(configs):
        keys = configs[vmid]
        if not property_string.truth(keys.get("onboot")) or running.is_running(vmid):
            continue
        print(f"Starting CT {vmid}", flush=True)
        try:
            with store.locked(vmid):
                lifecycle.start(vmid)
        except Died as died:
            print(f"Starting CT {vmid} failed: {died.text}", file=sys.stderr)
            continue
        time.sleep(int(_startup(keys).get("up", "0")))
    return 0


def stop_all() -> int:
    """Shut every running guest down, the last started first, killing what takes over 60 s."""
    up = running.vmids()
    configs = {vmid: store.load(vmid).now.keys for vmid in store.vmids() if vmid in up}
    for vmid in reversed(order(configs)):
        print(f"Stopping CT {vmid}", flush=True)
        try:
            with store.locked(vmid):
                lifecycle.shut_down(vmid, int(_startup(configs[vmid]).get("down", "60")), True)
        except Died as died:
            print(f"Stopping CT {vmid} failed: {died.text}", file=sys.stderr)
    return 0
