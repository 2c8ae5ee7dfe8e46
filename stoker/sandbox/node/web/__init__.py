"""Stand-in: `pveproxy`, the API of a node at https://<node>:8006/api2/json.

It reads the same files as the node's `pct` by the same code, and every change is made by the
code of a `pct` sub-command in a process of its own, so that locks, pending changes, hot-plugging
and errors are one truth. What was measured on a Proxmox VE 9 node holds here:
the envelope, immediate errors, and errors that only the task ends with.

Left out: everything of QEMU guests, backup, storage contents, consoles, firewall and SDN; groups,
LDAP and two factors; limits of rate. A start without quorum is not refused as long as nothing has
to be written. The nodes of an instance share /etc/pve, and each answers for all: what another node
has to do is sent on to it, and answered 595 where it does not answer. Creating one VMID on two
nodes at the same moment is not kept apart, as corosync would.
"""
