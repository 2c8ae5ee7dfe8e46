"""Stand-in: `pct status`, `config`, `list`, `pending`, `listsnapshot`: reading only, no lock."""

from __future__ import annotations

import time
from typing import Dict

from . import conf, current, pending, running, store
from .command import Request
from .died import Died


def status(request: Request) -> int:
    """`status: running`, or with --verbose every value, sorted."""
    config = store.load(request.vmid)
    if not request.is_set("verbose"):
        print("status: " + ("running" if running.is_running(request.vmid) else "stopped"))
        return 0
    for name, value in sorted(current.status(request.vmid, config).items()):
        print(f"{name}: {value}")
    return 0


def config(request: Request) -> int:
    """The sorted keys, pending values merged in unless --current, then the raw lines."""
    found = store.load(request.vmid)
    keys, raw = pending.merged(found), found.now.raw
    if request.is_set("current"):
        keys = found.now.keys
    name = request.values.get("snapshot")
    if name:
        if name not in found.snapshots:
            raise Died(f"snapshot '{name}' does not exist")
        keys, raw = found.snapshots[name].keys, found.snapshots[name].raw
    _print_keys(keys)
    for key, value in raw:
        print(f"{key}: {value}")
    return 0


def _print_keys(keys: Dict[str, str]) -> None:
    for name in sorted(keys):
        value = conf.encode(keys[name]) if name == "description" else keys[name]
        print(f"{name}: {value}")


def listing(_request: Request) -> int:
    """One line a container under a header; no output at all where there is none."""
    ids = store.vmids()
    up = running.vmids()
    if ids:
        print("%-10s %-10s %-12s %-20s" % ("VMID", "Status", "Lock", "Name"))
    for vmid in ids:
        keys = store.load(vmid).now.keys
        state = "running" if vmid in up else "stopped"
        name = keys.get("hostname", f"CT{vmid}")
        print("%-10s %-10s %-12s %-20s" % (vmid, state, keys.get("lock", ""), name))
    return 0


def pending_changes(request: Request) -> int:
    """`cur`, `new` and `del` lines."""
    for line in pending.listing(store.load(request.vmid)):
        print(line)
    return 0


def snapshots(request: Request) -> int:
    """The tree of snapshots with the place the container is at, `current`."""
    found = store.load(request.vmid)
    children: Dict[str, "list[str]"] = {}
    for name, section in found.snapshots.items():
        children.setdefault(section.keys.get("parent", ""), []).append(name)

    def show(parent: str, depth: int) -> None:
        for name in sorted(children.get(parent, [])):
            keys = found.snapshots[name].keys
            at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(int(keys.get("snaptime", "0"))))
            about = keys.get("description", "no-description").strip()
            print(f"{'  ' * depth}`-> {name:<27}{at:<23}{about}")
            show(name, depth + 1)
        if parent == found.now.keys.get("parent", ""):
            print(f"{'  ' * depth}`-> {'current':<50}You are here!")

    show("", 0)
    return 0
