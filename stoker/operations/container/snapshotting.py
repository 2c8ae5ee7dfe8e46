"""A snapshot of a stopped container, before what its next start brings.

Proxmox takes none of a container with bind mounts. Ours are taken out for the moment; a run that
dies in between leaves them out, and the next one declares them again.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from stoker.container import property_string
from stoker.container.configuration import Configuration
from stoker.container.mounts import Mount, is_bind
from stoker.container.normal import same
from stoker.proxmox.backend import Backend
from stoker.refused import Refused
from stoker.serving import layout

OURS = re.compile(r"stoker-\d{8}-\d{6}")
DESCRIPTION = "Taken by Stoker before a change that restarts the container"
WITHOUT = frozenset(
    ["dir", "nfs", "cifs", "glusterfs", "lvm", "iscsi", "iscsidirect", "pbs", "esxi"]
)
"""Types of storage on which Proxmox takes no snapshot of a container."""
_VOLUME = re.compile(r"(?:rootfs|mp\d+)")
_WHEELS = f"{layout.WHEELS},mp={layout.WHEELS},ro=1"


def require_possible(
    vmid: int, actual: Configuration, mounts: Sequence[Mount], storages: str
) -> None:
    """Raises Refused if Proxmox will take no snapshot, as far as that can be told.

    `mounts`: the declared ones. `storages`: text of /etc/pve/storage.cfg.
    """
    ours = binds(actual.keys, mounts)
    if ours and property_string.truth(actual.keys.get("protection")):
        raise Refused(
            f"cannot take a snapshot of CT {vmid}: Proxmox takes none with bind mounts, and its "
            "protection keeps these in; take `snapshot` or `protection` away"
        )
    types = {name: kind for kind, name in re.findall(r"(?m)^(\w+): *(\S+)", storages)}
    for key, value in sorted(actual.keys.items()):
        if not _VOLUME.fullmatch(key) or key in ours:
            continue
        source = _source(value)
        if source.startswith("/"):
            raise Refused(
                f"cannot take a snapshot of CT {vmid}: Proxmox takes none with the bind mount "
                f"{key} ({value}), which is not declared, or not all of it; declare it in "
                "`mounts`, or take `snapshot` away"
            )
        storage = source.partition(":")[0]
        if types.get(storage) in WITHOUT:
            raise Refused(
                f"cannot take a snapshot of CT {vmid}: {key} is on {storage}, and storage of type "
                f"{types[storage]} takes none; move it, or take `snapshot` away"
            )


def binds(keys: Mapping[str, str], mounts: Sequence[Mount]) -> dict[str, str]:
    """Bind mounts that are ours to take out and put back: the wheel store's, and those of which
    nothing is lost where a run dies in between, since all that they are is declared."""
    return {
        key: value
        for key, value in keys.items()
        if is_bind(key, value)
        and (
            same(key, value, _WHEELS)
            or any(_is_declared(key, value, mount) for mount in mounts if mount.is_bind)
        )
    }


def _is_declared(key: str, value: str, mount: Mount) -> bool:
    there = _target(value).rstrip("/") == mount.target
    return there and same(key, mount.edit(value), mount.new)


def take(backend: Backend, vmid: int, actual: Configuration, mounts: Sequence[Mount]) -> str:
    """Its name. Raises what the backend raises; the bind mounts are put back in any case, and a
    second error is a further line of the first."""
    name = _name(actual.snapshots)
    out = binds(actual.keys, mounts)
    if out:
        backend.set(vmid, {}, delete=tuple(sorted(out)), digest=actual.digest)
    try:
        backend.snapshot(vmid, name, DESCRIPTION)
    except BaseException as error:
        _put_back(backend, vmid, out, error)
        raise
    if out:
        backend.set(vmid, out)
    return name


def _put_back(backend: Backend, vmid: int, out: Mapping[str, str], error: BaseException) -> None:
    """After this error, which says so where it does not work."""
    try:
        if out:
            backend.set(vmid, out)
    except OSError as second:
        missing = ", ".join(sorted(out))
        error.args = (f"{error}\nand {missing} could not be put back: {second}",)


def expired(names: Sequence[str], kept: int) -> tuple[str, ...]:
    """Of these snapshots ours beyond the `kept` newest, oldest first."""
    ours = sorted(name for name in names if OURS.fullmatch(name))
    return tuple(ours[: max(0, len(ours) - kept)])


def _name(taken: Collection[str]) -> str:
    """Of this second, or of the first after it that has none."""
    moment = datetime.now(UTC)
    while (name := f"stoker-{moment:%Y%m%d-%H%M%S}") in taken:
        moment += timedelta(seconds=1)
    return name


def _source(value: str) -> str:
    first = value.partition(",")[0]
    return first.removeprefix("volume=")


def _target(value: str) -> str:
    found = re.search(r",mp=([^,]*)", value)
    return found[1] if found else ""
