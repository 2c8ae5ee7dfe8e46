"""Whose a process is, by its cgroup.

Proxmox puts a container's processes below `/lxc/<vmid>` (those of `pct exec` into `ns/.lxc`), its
monitor, a process of the node, into `/lxc.monitor/<vmid>`. A path is matched whole component by
component, so container 200 is not 2000. Whatever else there is belongs to the node.
"""

from __future__ import annotations

import re
from typing import Iterator

from stoker.health.seen import Owner

_CONTAINER = re.compile(r"/lxc/([^/]+)(?=/|$)")
_MONITOR = re.compile(r"/lxc\.monitor/([^/]+)(?=/|$)")
_PLAIN = re.compile(r"/lxc\.(payload|monitor)\.[^/]+(?=/|$)")
_VM = re.compile(r"/qemu\.slice/(\d+)\.scope(?=/|$)")
_UNIT = re.compile(r"/([^/]+\.(?:service|scope|socket|mount|swap))(?=/|$)")


def owner(cgroup_text: str) -> Owner:
    """The owner that /proc/<pid>/cgroup tells; an empty or foreign text is the node's."""
    path = _path(cgroup_text)
    kind, vmid, inner = _kind(path)
    units = _UNIT.findall(inner)
    return Owner(kind, vmid, units[-1] if units else "", path)


def _kind(path: str) -> tuple[str, int | None, str]:
    """Kind, VMID and the part of the path below the container."""
    for kind, pattern in (("ct", _CONTAINER), ("ct-monitor", _MONITOR), ("vm", _VM)):
        found = pattern.match(path)
        if found:
            return kind, _number(found[1]), path if kind == "vm" else path[found.end() :]
    plain = _PLAIN.match(path)
    if plain:
        return "ct" if plain[1] == "payload" else "ct-monitor", None, path[plain.end() :]
    return "host", None, path


def _number(name: str) -> int | None:
    """The VMID; None for a container that is not Proxmox's."""
    return int(name) if re.fullmatch(r"[1-9][0-9]*", name) else None


def _path(cgroup_text: str) -> str:
    """The path of version 2, or of systemd's hierarchy where version 1 holds the processes."""
    lines = [line.split(":", 2) for line in cgroup_text.splitlines() if line.count(":") >= 2]
    return next((path for path in _candidates(lines) if path not in ("", "/")), "/")


def _candidates(lines: list[list[str]]) -> Iterator[str]:
    yield from (path for number, _, path in lines if number == "0")
    yield from (path for _, names, path in lines if names == "name=systemd")
    yield from (path for _, _, path in lines if _kind(path)[0] != "host")
