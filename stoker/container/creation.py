"""A new container: what it is made with."""

from collections.abc import Mapping, Sequence

from stoker.container import device_keys, mounts, network, plain
from stoker.container.devices import Device
from stoker.container.property_string import Edit
from stoker.container.wanted import Wanted
from stoker.refused import Refused


def options(wanted: Wanted, vmid: int, devices: Sequence[Device] = ()) -> dict[str, str]:
    """The options of `pct create VMID` and of POST /nodes/N/lxc, without the VMID itself.

    Those that only root@pam may set are among them (`stoker.proxmox.rights`), and those that are
    set after it is made (`first`). Raises `Refused` with all that is not said.
    """
    wanted.require_creatable()
    if vmid < 100:
        raise Refused(f"cannot create CT {vmid}: Proxmox keeps the numbers below 100 to itself")
    edits: dict[str, Edit] = {
        **plain.edits(wanted),
        **network.edits(wanted.networks, ()),
        **mounts.edits(wanted.mounts, ()),
        **device_keys.edits(devices, (), exactly=True),
    }
    made = {
        "ostemplate": str(wanted.template),
        "storage": str(wanted.storage),
        "rootfs": f"{wanted.storage}:{wanted.rootfs_gib}",
        "unprivileged": str(int(wanted.unprivileged is not False)),
    }
    if wanted.pool:
        made["pool"] = wanted.pool
    return made | {key: value for key, edit in edits.items() if (value := edit(None))}


def first(options: Mapping[str, str]) -> dict[str, str]:
    """Those of the options that it is made with; the rest is set right after.

    A directory of the node is not among them: Proxmox mounts it, writable even with `ro=1`, while
    it unpacks the template, whose files for that path would come to lie in it. Protection comes
    with it, since it would keep it out. Tags are not among them where there is a pool: rights on
    the pool count for a container that is in it, and not before.
    """
    later = {key for key, value in options.items() if mounts.is_bind(key, value)}
    if later:
        later.add("protection")
    if "pool" in options:
        later.add("tags")
    return {key: value for key, value in options.items() if key not in later}
