"""Stand-in: the LXC configuration that Proxmox writes to /var/lib/lxc/<id>/config at every start.

Limits of memory and CPU are left out where this node's cgroup has no such controller: they are
then recorded and not enforced.
"""

from __future__ import annotations

import os
from typing import List, Mapping

from . import conf, devices, mapped, networks, property_string, volumes

HOOK = "/usr/lib/stoker-sandbox/hook.py"
# What systemd in a guest would try to mount itself, and may not.
KERNEL_MOUNTS = ("sys/kernel/debug", "sys/kernel/security", "sys/kernel/tracing")
SHARED = "/usr/share/lxc/config"


def text(vmid: int, config: conf.Config, controllers: List[str]) -> str:
    """The whole file for this container, its devices resolved now."""
    keys = config.now.keys
    lines = [
        "lxc.cgroup.relative = 0",
        f"lxc.cgroup.dir.monitor = lxc.monitor/{vmid}",
        f"lxc.cgroup.dir.container = lxc/{vmid}",
        "lxc.cgroup.dir.container.inner = ns",
        f"lxc.include = {SHARED}/common.conf",
        "lxc.apparmor.profile = unconfined",
        "lxc.monitor.unshare = 1",
        f"lxc.hook.pre-start = {HOOK}",
        f"lxc.hook.post-stop = {HOOK}",
        "lxc.tty.max = 2",
        f"lxc.arch = {keys.get('arch', 'amd64')}",
        f"lxc.uts.name = {keys.get('hostname', f'CT{vmid}')}",
        f"lxc.rootfs.path = {volumes.rootfs(vmid)}",
        *_privilege(keys),
        *_devices(keys, vmid),
        *_limits(keys, controllers),
        *_network(keys, vmid),
        *(f"lxc.mount.entry = /{path} {path} none bind,optional 0 0" for path in KERNEL_MOUNTS),
        "lxc.environment = TERM=linux",
    ]
    if keys.get("env"):
        lines += [f"lxc.environment = {pair}" for pair in keys["env"].split("\0")]
    if "entrypoint" in keys:
        lines.append(f"lxc.init.cmd = {keys['entrypoint']}")
    lines += [f"{name} = {value}" for name, value in config.now.raw]
    return "".join(line + "\n" for line in lines)


def _privilege(keys: Mapping[str, str]) -> List[str]:
    lines = []
    if mapped.shift_of(keys):
        lines.append(f"lxc.include = {SHARED}/userns.conf")
        # As lxc-pve-userns.conf: all devices, so that single ones can be denied.
        lines.append("lxc.cgroup2.devices.allow = a")
        lines += [f"lxc.idmap = {kind} 0 {mapped.SHIFT} {mapped.COUNT}" for kind in "ug"]
    features = property_string.parse(keys.get("features", ""), property_string.FEATURES)
    if mapped.shift_of(keys) and not property_string.truth(features.get("force_rw_sys")):
        # A writable /sys makes systemd-networkd wait for a udev that does not run.
        lines.append("lxc.mount.auto = sys:mixed")
    if property_string.truth(features.get("nesting")):
        lines.append(f"lxc.include = {SHARED}/nesting.conf")
    if property_string.truth(features.get("fuse")):
        lines.append("lxc.mount.entry = /dev/fuse dev/fuse none bind,create=file 0 0")
    return lines


def _devices(keys: Mapping[str, str], vmid: int) -> List[str]:
    lines = []
    for device in devices.all_of(keys):
        source = f"{volumes.LXC_PATH}/{vmid}/passthrough{device.path}"
        lines.append(f"lxc.mount.entry = {source} {device.path[1:]} none bind,create=file 0 0")
        if not mapped.shift_of(keys):
            access = "rm" if device.deny_write else "rwm"
            lines.append(f"lxc.cgroup2.devices.allow = {device.rule} {access}")
        elif device.deny_write:
            # Everything is allowed to an unprivileged container, so the write is taken away.
            lines.append(f"lxc.cgroup2.devices.deny = {device.rule} w")
    return lines


def _limits(keys: Mapping[str, str], controllers: List[str]) -> List[str]:
    lines = []
    if "memory" in controllers:
        memory = int(keys.get("memory", "512")) << 20
        lines.append(f"lxc.cgroup2.memory.max = {memory}")
    if "cpu" in controllers and float(keys.get("cpulimit", "0")):
        quota = int(float(keys["cpulimit"]) * 100000)
        lines.append(f"lxc.cgroup2.cpu.max = {quota} 100000")
    return lines


def _network(keys: Mapping[str, str], vmid: int) -> List[str]:
    lines = []
    for number, fields in networks.all_of(keys):
        stem = f"lxc.net.{number}"
        lines += [f"{stem}.type = veth", f"{stem}.veth.pair = veth{vmid}i{number}"]
        lines += [f"{stem}.name = {fields['name']}", f"{stem}.flags = up"]
        for ours, theirs in (("hwaddr", "hwaddr"), ("bridge", "link"), ("mtu", "mtu")):
            if ours in fields:
                lines.append(f"{stem}.{theirs} = {fields[ours]}")
    return lines or ["lxc.net.0.type = empty"]


def write(vmid: int, config: conf.Config) -> None:
    """Write the file; a missing device or bridge dies here, before anything is started."""
    networks.require_bridges(config.now.keys)
    with open("/sys/fs/cgroup/cgroup.controllers") as file:
        content = text(vmid, config, file.read().split())
    directory = f"{volumes.LXC_PATH}/{vmid}"
    os.makedirs(directory, exist_ok=True)
    with open(f"{directory}/config", "w") as file:
        file.write(content)
