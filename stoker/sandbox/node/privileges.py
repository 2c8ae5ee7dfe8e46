"""Stand-in: Proxmox's privileges and the roles that it brings along."""

from __future__ import annotations

from typing import Dict, FrozenSet

_VM_CONFIG = ("CDROM", "CPU", "Cloudinit", "Disk", "HWType", "Memory", "Network", "Options")
_GUEST_AGENT = ("Audit", "FileRead", "FileSystemMgmt", "FileWrite", "Unrestricted")
_VM_ADMIN = frozenset(
    [
        *(f"VM.Config.{word}" for word in _VM_CONFIG),
        *(f"VM.GuestAgent.{word}" for word in _GUEST_AGENT),
        *("VM.Allocate", "VM.Audit", "VM.Backup", "VM.Clone", "VM.Console", "VM.Migrate"),
        *("VM.PowerMgmt", "VM.Replicate", "VM.Snapshot", "VM.Snapshot.Rollback"),
    ]
)
_STORAGE = frozenset(
    f"Datastore.{word}" for word in ("Allocate", "AllocateSpace", "AllocateTemplate", "Audit")
)
_AUDIT = frozenset(
    ["Sys.Audit", "Pool.Audit", "Mapping.Audit", "SDN.Audit", "Datastore.Audit", "VM.Audit"]
)
_SYSTEM = frozenset(
    [
        *("Sys.AccessNetwork", "Sys.Console", "Sys.Incoming", "Sys.Modify", "Sys.PowerMgmt"),
        *("Sys.Syslog", "Permissions.Modify", "Pool.Allocate", "SDN.Allocate", "SDN.Use"),
        *("Mapping.Modify", "Mapping.Use", "Realm.Allocate", "Realm.AllocateUser"),
        *("Group.Allocate", "User.Modify"),
    ]
)
ALL = _VM_ADMIN | _STORAGE | _AUDIT | _SYSTEM
NO_ACCESS = "NoAccess"
# The more common ones; a role that is made by `pveum role add` is one of user.cfg.
ROLES: Dict[str, FrozenSet[str]] = {
    "Administrator": ALL,
    NO_ACCESS: frozenset(),
    "PVEAuditor": _AUDIT,
    "PVEDatastoreUser": frozenset(["Datastore.Audit", "Datastore.AllocateSpace"]),
    "PVESDNUser": frozenset(["SDN.Audit", "SDN.Use"]),
    "PVEVMAdmin": _VM_ADMIN,
    "PVEVMUser": frozenset(
        [
            *("VM.Audit", "VM.Backup", "VM.Config.CDROM", "VM.Config.Cloudinit"),
            *("VM.Console", "VM.PowerMgmt"),
        ]
    ),
}
