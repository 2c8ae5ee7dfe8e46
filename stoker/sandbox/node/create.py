"""Stand-in: `pct create` and `pct destroy`."""

from __future__ import annotations

import os
import re
import sys
from typing import Dict

from . import (
    access,
    accounts,
    cluster,
    conf,
    devices,
    guest_files,
    ha,
    lifecycle,
    mapped,
    mounts,
    networks,
    property_string,
    running,
    schema,
    store,
    version,
    volumes,
)
from .command import BOOLEAN, TEXT, Request
from .died import Died

# From this version on systemd wants namespaces of its own.
NESTED_SYSTEMD = 232
OPTIONS = {
    "start": BOOLEAN,
    "force": BOOLEAN,
    "unique": BOOLEAN,
    "restore": BOOLEAN,
    "ignore-unpack-errors": BOOLEAN,
    "storage": TEXT,
    "pool": TEXT,
    "password": TEXT,
    "ssh-public-keys": TEXT,
    "bwlimit": TEXT,
}


def create(request: Request) -> int:
    """Make the configuration, unpack the template shifted, write the guest's files."""
    vmid = request.vmid
    cluster.require_quorum()
    node = store.node_of(vmid)
    if node:
        raise Died(f"CT {vmid} already exists on node '{node}'")
    config = conf.Config(now=conf.Section(_keys(request)))
    with store.locked(vmid):
        config.now.keys["lock"] = "create"
        store.save(vmid, config)
        try:
            archive = volumes.template(vmid, request.values["ostemplate"])
            _fill(request, config, archive)
        except BaseException:
            _forget(vmid)
            raise
        del config.now.keys["lock"]
        store.save(vmid, config)
        _join(vmid, request.values.get("pool", ""))
        if request.is_set("start"):
            lifecycle.start(vmid)
    return 0


def _join(vmid: int, pool: str) -> None:
    if pool:
        rights = access.load()
        rights.pools.setdefault(pool, set()).add(vmid)
        access.save(rights)


def _keys(request: Request) -> Dict[str, str]:
    vmid, values = request.vmid, request.values
    keys = {name: text for name, text in values.items() if schema.find(name)}
    storage = values.get("storage", "local")
    keys["rootfs"] = volumes.new_volume(vmid, keys.get("rootfs", f"{storage}:4"))
    unprivileged = str(int(version.creates_unprivileged()))
    defaults = {
        "unprivileged": unprivileged,
        "memory": "512",
        "swap": "512",
        "hostname": f"CT{vmid}",
    }
    for name, text in defaults.items():
        keys.setdefault(name, text)
    if not property_string.truth(keys["unprivileged"]):
        del keys["unprivileged"]
    for name in list(keys):
        if name.startswith("net"):
            keys[name] = networks.completed(keys[name], vmid, name)
    if "tags" in keys:
        keys["tags"] = schema.tags(keys["tags"])
    devices.all_of(keys)
    return keys


def _fill(request: Request, config: conf.Config, archive: str) -> None:
    vmid, keys = request.vmid, config.now.keys
    shift = mapped.shift_of(keys)
    # Before the template: in the real one they are mounted while it is unpacked.
    for name in keys:
        if re.fullmatch(r"mp\d+", name):
            keys[name] = volumes.new_mount_point(vmid, keys[name], shift)
    mounts.require_sources(keys, vmid)
    volumes.extract(archive, vmid, shift)
    keys["arch"] = volumes.architecture(vmid)
    print(f"Detected container architecture: {keys['arch']}", flush=True)
    root = volumes.rootfs(vmid)
    keys["ostype"] = accounts.os_type(root)
    with open("/etc/resolv.conf") as file:
        node_resolv = file.read()
    public_keys = ""
    if "ssh-public-keys" in request.values:
        with open(request.values["ssh-public-keys"]) as file:
            public_keys = file.read()
    password = accounts.hashed(request.values.get("password", ""))

    def first_files() -> int:
        accounts.forget_machine_id()
        accounts.set_up_root(password, public_keys)
        return guest_files.write_all(vmid, keys, node_resolv)

    if mapped.in_root(root, shift, first_files):
        raise Died(f"unable to create CT {vmid} - cannot write the guest's files")
    _warn_about_nesting(keys, root)


def _warn_about_nesting(keys: Dict[str, str], root: str) -> None:
    features = property_string.parse(keys.get("features", ""), property_string.FEATURES)
    version = accounts.systemd_version(root)
    allowed = "unprivileged" not in keys or property_string.truth(features.get("nesting"))
    if version >= NESTED_SYSTEMD and not allowed:
        print(f"WARN: Systemd {version} detected. You may need to enable nesting.", flush=True)
        print("Task finished with 1 warning(s)!", file=sys.stderr)


def _forget(vmid: int) -> None:
    store.remove(vmid)
    if os.path.isdir(f"{volumes.LXC_PATH}/{vmid}"):
        volumes.remove(vmid)


def destroy(request: Request) -> int:
    """Remove a stopped container; a running one only with --force."""
    vmid = request.vmid
    config = store.load(vmid)
    if config.now.keys.get("protection") == "1":
        raise Died(f"can't remove CT {vmid} - protection mode enabled")
    store.check_lock(config, request.is_set("force"))
    if vmid in ha.resources() and not request.is_set("purge"):
        raise Died(
            f"unable to remove CT {vmid} - used in HA resources and purge parameter not set."
        )
    with store.locked(vmid):
        if running.is_running(vmid):
            if not request.is_set("force"):
                raise Died(f"unable to destroy CT {vmid} - container is running")
            lifecycle.kill(vmid)
        if request.is_set("purge") and vmid in ha.resources():
            ha.save({ct: state for ct, state in ha.resources().items() if ct != vmid})
        _forget(vmid)
        rights = access.load()
        before = access.render(rights)
        rights.forget(vmid)
        if access.render(rights) != before:
            access.save(rights)
    return 0
