"""Stand-in: snapshots, as a storage that can make them would; each is a plain copy here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time

from . import conf, lifecycle, running, store, volumes
from .command import BOOLEAN, TEXT, Request
from .died import BadParameters, Died

OPTIONS = {"description": TEXT}
ROLLBACK_OPTIONS = {"start": BOOLEAN}
DELETE_OPTIONS = {"force": BOOLEAN}
KEPT_WITH_SNAPSHOT = ("snaptime", "parent", "lock", "description")


def _place(vmid: int, name: str) -> str:
    return f"{volumes.LXC_PATH}/{vmid}/snapshots/{name}"


def _name(request: Request) -> str:
    name = request.values["snapname"]
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{1,39}", name):
        problem = f"invalid format - invalid configuration ID '{name}'"
        raise BadParameters({"snapname": problem})
    return name


def _copy(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    words = ["cp", "-a", "--reflink=auto", source, target]
    if subprocess.run(words).returncode:
        shutil.rmtree(target, ignore_errors=True)
        raise Died(f"command '{' '.join(words)}' failed")


def take(request: Request) -> int:
    """Take a snapshot; a running container is frozen while it is made."""
    vmid, name = request.vmid, _name(request)
    with store.locked(vmid):
        config = store.load(vmid)
        store.check_lock(config)
        if name in config.snapshots:
            raise Died(f"snapshot name '{name}' already used")
        if not volumes.can_snapshot(config.now.keys):
            raise Died("snapshot feature is not available")
        _locked_copy(vmid, config, "snapshot", name)
        section = conf.Section(dict(config.now.keys), list(config.now.raw))
        section.keys.update(snaptime=str(int(time.time())))
        section.keys.pop("description", None)
        if "description" in request.values:
            section.keys["description"] = request.values["description"]
        config.snapshots[name] = section
        config.now.keys["parent"] = name
        store.save(vmid, config)
    return 0


def _locked_copy(vmid: int, config: conf.Config, lock: str, name: str) -> None:
    config.now.keys["lock"] = lock
    store.save(vmid, config)
    frozen = running.is_running(vmid)
    try:
        if frozen:
            subprocess.run(["lxc-freeze", "-n", str(vmid)], check=True)
        _copy(volumes.rootfs(vmid), f"{_place(vmid, name)}/rootfs")
    finally:
        if frozen:
            subprocess.run(["lxc-unfreeze", "-n", str(vmid)], check=True)
        del config.now.keys["lock"]
        store.save(vmid, config)


def roll_back(request: Request) -> int:
    """Kill the container and put its files and keys back; start it only when asked to."""
    vmid, name = request.vmid, _name(request)
    with store.locked(vmid):
        config = store.load(vmid)
        store.check_lock(config)
        section = _existing(config, name)
        if running.is_running(vmid):
            lifecycle.kill(vmid)
        root, old = volumes.rootfs(vmid), f"{volumes.rootfs(vmid)}.old"
        _copy(f"{_place(vmid, name)}/rootfs", f"{root}.new")
        os.rename(root, old)
        os.rename(f"{root}.new", root)
        shutil.rmtree(old)
        keys = {key: section.keys[key] for key in section.keys if key not in KEPT_WITH_SNAPSHOT}
        keys["parent"] = name
        config.now, config.pending = conf.Section(keys, list(section.raw)), conf.Section()
        store.save(vmid, config)
        if request.is_set("start"):
            lifecycle.start(vmid)
    return 0


def delete(request: Request) -> int:
    """Remove a snapshot; its children get its parent."""
    vmid, name = request.vmid, _name(request)
    with store.locked(vmid):
        config = store.load(vmid)
        store.check_lock(config)
        parent = _existing(config, name).keys.get("parent")
        if os.path.isdir(_place(vmid, name)):
            shutil.rmtree(_place(vmid, name))
        del config.snapshots[name]
        for section in (config.now, *config.snapshots.values()):
            if section.keys.get("parent") == name:
                del section.keys["parent"]
                if parent:
                    section.keys["parent"] = parent
        store.save(vmid, config)
    return 0


def _existing(config: conf.Config, name: str) -> conf.Section:
    if name not in config.snapshots:
        raise Died(f"snapshot '{name}' does not exist")
    return config.snapshots[name]
