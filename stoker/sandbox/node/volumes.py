"""Stand-in: storages, templates and root file systems, all of them directories on the node."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Mapping

from . import conf, mapped, property_string
from .died import BadParameters, Died

LXC_PATH = "/var/lib/lxc"
# `local` is a directory, which cannot make snapshots; `local-zfs` stands for one that can.
STORAGES = {"local": "dir", "local-zfs": "zfspool"}
TEMPLATES = "/var/lib/vz/template/cache"


def rootfs(vmid: int) -> str:
    """The directory of the container's root file system on the node."""
    return f"{LXC_PATH}/{vmid}/rootfs"


def require_storage(name: str) -> None:
    """Die where there is no storage of that name."""
    if name not in STORAGES:
        raise Died(f"storage '{name}' does not exist")


def template(vmid: int, volume: str) -> str:
    """The file of `local:vztmpl/NAME`, or of an absolute path."""
    if volume.startswith("/"):
        file = volume
    else:
        storage, _, name = volume.partition(":")
        require_storage(storage)
        file = os.path.join(TEMPLATES, os.path.basename(name))
    if not os.path.exists(file):
        raise Died(f"unable to create CT {vmid} - volume '{volume}' does not exist")
    return file


def new_volume(vmid: int, asked: str) -> str:
    """The stored `rootfs:` value for what was asked, `local:8` or `local:8,acl=1`."""
    fields = property_string.parse(asked, property_string.ROOTFS)
    storage, _, size = fields["volume"].partition(":")
    require_storage(storage)
    disk = f"vm-{vmid}-disk-0" if STORAGES[storage] == "zfspool" else f"{vmid}/vm-{vmid}-disk-0.raw"
    fields["volume"] = f"{storage}:{disk}"
    fields["size"] = f"{size or 4}G"
    return property_string.render(fields, property_string.ROOTFS)


def new_mount_point(vmid: int, asked: str, shift: int) -> str:
    """The stored `mpN:` value for what was asked; `local:8,mp=/p` makes a new empty volume."""
    fields = property_string.parse(asked, property_string.MOUNT_POINT)
    storage, _, size = fields["volume"].partition(":")
    if fields["volume"].startswith("/"):
        return property_string.render(fields, property_string.MOUNT_POINT)
    if not size.isdigit():
        return asked
    require_storage(storage)
    number = 1
    while os.path.exists(f"{LXC_PATH}/{vmid}/vm-{vmid}-disk-{number}.raw"):
        number += 1
    disk = f"vm-{vmid}-disk-{number}.raw"
    os.makedirs(f"{LXC_PATH}/{vmid}/{disk}")
    os.chown(f"{LXC_PATH}/{vmid}/{disk}", shift, shift)
    fields["volume"], fields["size"] = f"{storage}:{vmid}/{disk}", f"{size}G"
    return property_string.render(fields, property_string.MOUNT_POINT)


def can_snapshot(keys: Mapping[str, str]) -> bool:
    """Whether the storage of each volume makes snapshots: of a directory of the node none does."""
    volumes = [keys[name] for name in keys if re.fullmatch(r"rootfs|mp\d+", name)]
    return all(STORAGES.get(volume.partition(":")[0]) == "zfspool" for volume in volumes)


def resized(config: conf.Config, disk: str, size: str) -> str:
    """The stored value of a volume that is grown to `64G`, or by `+8G`; dies where it cannot be."""
    if not re.fullmatch(r"rootfs|mp\d+", disk):
        raise BadParameters({"disk": "value does not have a value in the enumeration"})
    if not re.fullmatch(r"\+?\d+(\.\d+)?[KMGT]?", size):
        raise BadParameters({"size": "value does not match the regex pattern"})
    if disk not in config.now.keys:
        raise Died(f"disk '{disk}' does not exist")
    fields = property_string.parse(config.now.keys[disk], property_string.MOUNT_POINT)
    before, asked = volume_bytes(fields.get("size", "0")), volume_bytes(size.lstrip("+"))
    wanted = before + asked if size.startswith("+") else asked
    if wanted < before:
        raise Died("unable to shrink disk size")
    if wanted == before:
        raise Died("disk is already at specified size")
    fields["size"] = _shown(wanted)
    return property_string.render(fields, property_string.MOUNT_POINT)


def volume_bytes(text: str) -> int:
    """Bytes of a size as Proxmox writes it, `64G`."""
    shift = {"K": 10, "M": 20, "G": 30, "T": 40}.get(text[-1:], 0)
    return int(float((text[:-1] if shift else text) or 0) * (1 << shift))


def _shown(size: int) -> str:
    for unit, shift in (("T", 40), ("G", 30), ("M", 20), ("K", 10)):
        if size and size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


def extract(archive: str, vmid: int, shift: int) -> None:
    """Unpack a template into the container's root, owned by its shifted ids."""
    target = rootfs(vmid)
    os.makedirs(target)
    os.chown(target, shift, shift)
    os.chmod(target, 0o755)
    print(f"extracting archive '{archive}'", flush=True)
    words = ["tar", "xpf", "-", "--totals", "--numeric-owner", "--xattrs"]
    words += ["--xattrs-include=security.capability", "--warning=no-xattr-write"]
    words += ["-C", target, "--anchored", "--exclude", "./dev/*", "--exclude", "dev/*"]
    with _Opened(archive) as stream:

        def unpack() -> int:
            return subprocess.run(words, stdin=stream, stderr=subprocess.STDOUT).returncode

        code = mapped.in_user_namespace(shift, unpack)
    if code:
        raise Died(f"unable to create CT {vmid} - command 'tar' failed: exit code {code}")


class _Opened:
    """The plain tar stream of an archive, packed or not; the unpacker ends with the block."""

    def __init__(self, archive: str) -> None:
        packer = {".zst": ["zstd", "-dc"], ".gz": ["gzip", "-dc"], ".xz": ["xz", "-dc"]}
        self.words = packer.get(os.path.splitext(archive)[1])
        self.archive = archive

    def __enter__(self) -> int:
        if self.words is None:
            self.file = os.open(self.archive, os.O_RDONLY)
            return self.file
        self.process = subprocess.Popen([*self.words, self.archive], stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def __exit__(self, *_exception: object) -> None:
        if self.words is None:
            os.close(self.file)
            return
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process.wait()


def architecture(vmid: int) -> str:
    """The word for the guest's machine, read from its /bin/sh; amd64 where that says nothing."""
    machines = {62: "amd64", 183: "arm64", 3: "i386", 40: "armhf"}
    root = rootfs(vmid)
    for shell in ("usr/bin/dash", "usr/bin/bash", "bin/busybox", "bin/sh"):
        file = os.path.join(root, shell)
        if os.path.isfile(file) and not os.path.islink(file):
            with open(file, "rb") as binary:
                head = binary.read(20)
            return machines.get(int.from_bytes(head[18:20], "little"), "amd64")
    return "amd64"


def remove(vmid: int) -> None:
    """Delete everything that the container has on disk."""
    shutil.rmtree(f"{LXC_PATH}/{vmid}", ignore_errors=False)
