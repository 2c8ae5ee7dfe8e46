"""Stand-in: which privileges a change of a container needs, key by key (PVE::LXC's
check_ct_modify_config_perm), and what takes root@pam itself."""

from __future__ import annotations

import re
from typing import Dict, List, Mapping

from .. import conf, property_string, store, version
from . import problem
from .call import Call

CONFIG = ("Disk", "CPU", "Memory", "Network", "Options")
_PRIVILEGE = {
    **dict.fromkeys(("cores", "cpulimit", "cpuunits"), "VM.Config.CPU"),
    **dict.fromkeys(("memory", "swap"), "VM.Config.Memory"),
    **dict.fromkeys(("hostname", "nameserver", "searchdomain"), "VM.Config.Network"),
}
# Parameters of a creation that are no keys of the configuration.
_NOT_KEYS = (
    *("vmid", "ostemplate", "storage", "pool", "start", "password", "ssh-public-keys", "force"),
    *("unique", "restore", "ignore-unpack-errors", "bwlimit", "unprivileged", "delete", "revert"),
    *("digest", "arch", "ostype"),
)


def for_create(call: Call) -> None:
    """403 where the sender may not make this container."""
    vmid, pool = call.values["vmid"], call.values.get("pool")
    if pool is not None and pool not in call.access.pools:
        raise problem.forbidden(f"pool '{pool}' does not exist")
    places = [f"/vms/{vmid}"] + ([f"/pool/{pool}"] if pool else [])
    if not any(call.may(place, "VM.Allocate") for place in places):
        raise problem.forbidden()
    # Both since 6.0.6: unprivileged is what it becomes unasked, and privileged takes more.
    newer = version.creates_unprivileged()
    unprivileged = property_string.truth(call.values.get("unprivileged", str(int(newer))))
    if newer and not unprivileged:
        call.require("/", "Sys.Modify")
    _keys(call, places, conf.Section(), call.values, [], unprivileged)
    storage, separator, _name = call.values["ostemplate"].partition(":")
    if separator and not call.may(f"/storage/{storage}", "Datastore.Allocate"):
        call.require(f"/storage/{storage}", "Datastore.AllocateSpace", "Datastore.Audit")
    for storage in storages(call):
        call.require(f"/storage/{storage}", "Datastore.AllocateSpace")


def storages(call: Call) -> List[str]:
    """Where a creation puts its volumes."""
    named = [call.values[name] for name in call.values if re.fullmatch(r"rootfs|mp\d+", name)]
    volumes = [_volume(value) for value in named]
    found = [volume.partition(":")[0] for volume in volumes if not volume.startswith("/")]
    if "rootfs" not in call.values:
        found.append(call.values.get("storage", "local"))
    return sorted(set(found))


def for_change(call: Call) -> None:
    """403 where the sender may not make this change."""
    call.require_vm(*(f"VM.Config.{word}" for word in CONFIG))
    if call.is_root:
        return
    config = store.load(call.vmid)
    deletes = re.split(r"[,; ]+", call.values.get("delete", ""))
    unprivileged = config.now.keys.get("unprivileged") == "1"
    listed = [name for name in deletes if name]
    _keys(call, [f"/vms/{call.vmid}"], config.now, call.values, listed, unprivileged)


def _keys(
    call: Call,
    places: List[str],
    before: conf.Section,
    values: Mapping[str, str],
    deletes: List[str],
    unprivileged: bool,
) -> None:
    if call.is_root:
        return
    for name in deletes:
        _key(call, places, name, before.keys.get(name, ""), None, unprivileged)
    for name, value in values.items():
        if name not in _NOT_KEYS:
            _key(call, places, name, before.keys.get(name, ""), value, unprivileged)


def _key(
    call: Call, places: List[str], name: str, before: str, after: "str | None", unprivileged: bool
) -> None:
    """One key that is set, or deleted (`after` None)."""
    stem = name.rstrip("0123456789")
    if stem == "dev":
        raise problem.forbidden("configuring device passthrough is only allowed for root@pam")
    if name == "hookscript":
        raise problem.forbidden("changing the hookscript is only allowed for root@pam")
    if name == "tags":
        # Rights on a pool do not count, even of a container that is made in it.
        places = places[:1]
    if name == "features":
        _features(call, places, before, after or "", unprivileged)
    elif name == "rootfs" or stem == "mp":
        _vm(call, places, "VM.Config.Disk")
        if after is not None:
            _mounted(call, after)
    elif stem == "net":
        _vm(call, places, "VM.Config.Network")
        for value in filter(None, (before, after)):
            _bridge(call, value)
    else:
        _vm(call, places, _PRIVILEGE.get(name, "VM.Config.Options"))


def _vm(call: Call, places: List[str], privilege: str) -> None:
    if not any(call.may(place, privilege) for place in places):
        raise problem.forbidden(f"{places[0]}, {privilege}")


def _features(call: Call, places: List[str], before: str, after: str, unprivileged: bool) -> None:
    if not unprivileged:
        what = "changing feature flags for privileged container is only allowed for root@pam"
        raise problem.forbidden(what)
    old, new = (property_string.parse(text, property_string.FEATURES) for text in (before, after))
    changed = {name for name in {*old, *new} if _value(old, name) != _value(new, name)}
    if changed - {"nesting"}:
        what = "changing feature flags (except nesting) is only allowed for root@pam"
        raise problem.forbidden(what)
    if changed:
        _vm(call, places, "VM.Allocate")


def _value(fields: Dict[str, str], name: str) -> str:
    given = fields.get(name, "0")
    return given if name == "mount" else str(int(property_string.truth(given)))


def _volume(value: str) -> str:
    return property_string.parse(value, property_string.MOUNT_POINT).get("volume", "")


def _mounted(call: Call, value: str) -> None:
    volume = _volume(value)
    if volume.startswith("/"):
        kind = "device" if volume.startswith("/dev/") else "bind"
        raise problem.forbidden(f"mount point type {kind} is only allowed for root@pam")
    call.require(f"/storage/{volume.partition(':')[0]}", "Datastore.AllocateSpace")


def _bridge(call: Call, value: str) -> None:
    fields = property_string.parse(value, property_string.NETWORK)
    if "bridge" in fields:
        path = f"/sdn/zones/localnetwork/{fields['bridge']}"
        call.require(f"{path}/{fields['tag']}" if "tag" in fields else path, "SDN.Use")
