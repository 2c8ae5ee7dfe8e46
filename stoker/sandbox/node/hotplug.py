"""Stand-in: a new device or mount point put into a running container.

The mount is made on the node, detached, and carried by descriptor into the container's user and
mount namespaces; the target is made there by the container's own root. No path of the guest is
ever followed on the node.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import Callable

from . import devices, kernel, mapped, mounts, running
from .died import Died

MS_PRIVATE_REC = (1 << 18) | (1 << 14)


def plug_device(vmid: int, device: devices.Device, shift: int) -> None:
    """Give a running container its private node of a device, usable at once."""
    if not shift:
        _rule(vmid, "allow", f"{device.rule} {'rm' if device.deny_write else 'rwm'}")
    elif device.deny_write:
        _rule(vmid, "deny", f"{device.rule} w")

    def make() -> int:
        # A tmpfs nobody else sees: it lives on through the mount of its one node.
        mapped.check(mapped.LIBC.unshare(mapped.CLONE_NEWNS), "unshare")
        mapped.check(mapped.LIBC.mount(b"none", b"/", None, MS_PRIVATE_REC, None), "private /")
        directory = tempfile.mkdtemp(dir="/run/pve")
        kernel.mount_tmpfs(directory)
        return kernel.clone_tree(devices.make_node(device, directory))

    _carry(vmid, shift, make, device.path, directory=False)


def plug_mount(vmid: int, point: mounts.MountPoint, shift: int) -> None:
    """Bind a directory of the node into a running container."""
    if not os.path.exists(point.source):
        raise Died(f"directory '{point.source}' does not exist")

    def make() -> int:
        return kernel.clone_tree(point.source, point.read_only)

    _carry(vmid, shift, make, point.target, os.path.isdir(point.source))


def _carry(vmid: int, shift: int, make: Callable[[], int], target: str, directory: bool) -> None:
    pid = running.init_pid(vmid)

    def inside() -> int:
        tree = make()
        spaces = [("mnt", mapped.CLONE_NEWNS)]
        if shift:
            spaces.insert(0, ("user", mapped.CLONE_NEWUSER))
        opened = [(os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY), flag) for kind, flag in spaces]
        for descriptor, flag in opened:
            mapped.check(mapped.LIBC.setns(descriptor, flag), "setns")
        mapped.become(0)
        mounts.make_target(target, directory)
        kernel.attach_tree(tree, os.open(target, os.O_PATH))
        return 0

    if mapped.in_child(inside):
        raise Died(f"unable to hotplug {target}")


def _rule(vmid: int, verb: str, rule: str) -> None:
    words = ["lxc-cgroup", "-n", str(vmid), f"devices.{verb}", rule]
    if subprocess.run(words).returncode:
        raise Died(f"unable to {verb} device {rule}")
