"""Stand-in: what happens in LXC's hooks: mounts and devices before, a restart after.

pre-start runs in the monitor's own mount namespace (`lxc.monitor.unshare`), so what is mounted
here is seen by the container and by nobody else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import syslog
from typing import List, Mapping

from . import devices, guest_files, kernel, lifecycle, mapped, mounts, running, store, volumes
from .died import Died


def main(words: List[str], environ: Mapping[str, str]) -> int:
    """The exit code of a hook, or of `start ID`, `restart ID`, `stop ID` run by the node itself."""
    try:
        if words[0] in ("start", "restart", "stop"):
            return act(words[0], int(words[1]))
        # LXC's version 0 hooks: name, section, type.
        vmid, kind = int(words[0]), words[2]
        return before_start(vmid) if kind == "pre-start" else after_stop(vmid, environ)
    except Died as died:
        return _failed(died.text, died.code)
    except OSError as error:
        return _failed(str(error), error.errno or 255)


def _failed(text: str, code: int) -> int:
    # LXC swallows what a hook prints; the journal of the node keeps it.
    print(text, file=sys.stderr)
    syslog.openlog("pct-hook")
    syslog.syslog(syslog.LOG_ERR, text)
    return code


def before_start(vmid: int) -> int:
    """Write the guest's files, mount its mount points, make its device nodes."""
    keys = store.load(vmid).now.keys
    root, shift = volumes.rootfs(vmid), mapped.shift_of(keys)
    with open("/etc/resolv.conf") as file:
        node_resolv = file.read()
    mapped.in_root(root, shift, lambda: guest_files.write_all(vmid, keys, node_resolv))
    for point in mounts.all_of(keys, vmid):
        _mount(point, root, shift)
    passthrough = f"{volumes.LXC_PATH}/{vmid}/passthrough"
    os.makedirs(passthrough, exist_ok=True)
    kernel.mount_tmpfs(passthrough)
    for device in devices.all_of(keys):
        devices.make_node(device, passthrough)
    return 0


def _mount(point: mounts.MountPoint, root: str, shift: int) -> None:
    if not os.path.exists(point.source):
        raise Died(f"directory '{point.source}' does not exist", 2)
    is_directory = os.path.isdir(point.source)
    mapped.in_root(root, shift, lambda: mounts.make_target(point.target, is_directory))
    target = kernel.open_in_root(root, point.target)
    kernel.attach_tree(kernel.clone_tree(point.source, point.read_only), target)
    os.close(target)


def after_stop(vmid: int, environ: Mapping[str, str]) -> int:
    """Nothing for a stop. A reboot from inside is a stop and a new start, with what is pending."""
    if environ.get("LXC_TARGET") != "reboot":
        return 0
    words = ["systemd-run", "--collect", "--quiet", "--no-block"]
    subprocess.run([*words, sys.argv[0], "restart", str(vmid)], check=True)
    # LXC stops instead of rebooting in place where this hook fails.
    return 1


def act(verb: str, vmid: int) -> int:
    """Start or stop a container for high availability, or once its old monitor is gone."""
    if verb == "restart":
        running.wait_stopped(vmid, 60)
    with store.locked(vmid):
        up = running.is_running(vmid)
        if verb == "stop" and up:
            lifecycle.shut_down(vmid, 60, force=True)
        elif verb != "stop" and not up:
            lifecycle.start(vmid, skip_lock=True)
    return 0
