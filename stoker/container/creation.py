"""A new container: what it is made with."""

from collections.abc import Sequence

from stoker.container import device_keys, mounts, network, plain
from stoker.container.devices import Device
from stoker.container.property_string import Edit
from stoker.container.wanted import Wanted
from stoker.refused import Refused


def options(wanted: Wanted, vmid: int, devices: Sequence[Device] = ()) -> dict[str, str]:
    """The options of `pct create VMID` and of POST /nodes/N/lxc, without the VMID itself.

    Those that only root@pam may set are among them; see `stoker.container.rights`. Raises
    `Refused` with all that is not said.
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
