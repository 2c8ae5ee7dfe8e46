"""Stand-in: the few paths of Proxmox's API that are read here, as plain data."""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Dict, List, Tuple

from . import conf, current, ha, pending, store, version
from .died import Died

Handler = Callable[..., Any]


def get(path: str, options: Dict[str, str]) -> Any:
    """What `GET path` answers; dies on a path that this stand-in does not have."""
    for pattern, handler in ROUTES:
        match = re.fullmatch(pattern, path.rstrip("/") or "/")
        if match:
            return handler(options, *match.groups())
    raise Died(f"No 'get' handler defined for '{path}'")


def _require_node(node: str) -> None:
    if node not in (store.node_name(), "localhost"):
        reason = f"failed to get address info for: {node}: Name or service not known"
        raise Died(f"hostname lookup '{node}' failed - {reason}")


def _version(_options: Dict[str, str]) -> Dict[str, str]:
    return {
        "release": version.RELEASE,
        "repoid": version.REPOSITORY,
        "version": version.MANAGER,
    }


def _nodes(_options: Dict[str, str]) -> List[Dict[str, Any]]:
    with open("/proc/uptime") as file:
        uptime = int(float(file.read().split()[0]))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    node = store.node_name()
    return [
        {
            "id": f"node/{node}",
            "maxcpu": os.cpu_count(),
            "maxmem": memory,
            "node": node,
            "status": "online",
            "type": "node",
            "uptime": uptime,
        }
    ]


def _node_status(_options: Dict[str, str], node: str) -> Dict[str, Any]:
    _require_node(node)
    found = _nodes({})[0]
    load = [f"{value:.2f}" for value in os.getloadavg()]
    return {
        "kversion": f"Linux {os.uname().release} {os.uname().version}",
        "loadavg": load,
        "pveversion": f"pve-manager/{version.MANAGER}/{version.REPOSITORY}",
        "uptime": found["uptime"],
    }


def _containers(_options: Dict[str, str], node: str) -> List[Dict[str, Any]]:
    _require_node(node)
    found = [dict(current.status(vmid, store.load(vmid))) for vmid in store.vmids()]
    for entry in found:
        del entry["ha"]
    return found


def _current(_options: Dict[str, str], node: str, vmid: str) -> Dict[str, Any]:
    _require_node(node)
    found: Dict[str, Any] = dict(current.status(int(vmid), store.load(int(vmid))))
    found["ha"] = {"managed": int(ha.manages(int(vmid)))}
    return found


def _config(options: Dict[str, str], node: str, vmid: str) -> Dict[str, Any]:
    _require_node(node)
    config = store.load(int(vmid))
    merged = config.now.keys if options.get("current") == "1" else pending.merged(config)
    found: Dict[str, Any] = {name: _typed(text) for name, text in merged.items()}
    found["digest"] = config.digest
    if config.now.raw:
        found["lxc"] = [list(pair) for pair in config.now.raw]
    return found


def _typed(text: str) -> Any:
    return int(text) if re.fullmatch(r"0|[1-9]\d*", text) else text


def _pending(_options: Dict[str, str], node: str, vmid: str) -> List[Dict[str, Any]]:
    _require_node(node)
    config = store.load(int(vmid))
    return [_pending_item(config, name) for name in sorted({*config.now.keys, *_changes(config)})]


def _changes(config: conf.Config) -> Dict[str, str]:
    return {name: text for name, text in config.pending.keys.items() if name != "delete"}


def _pending_item(config: conf.Config, name: str) -> Dict[str, Any]:
    item: Dict[str, Any] = {"key": name}
    if name in config.now.keys:
        item["value"] = _typed(config.now.keys[name])
    if name in _changes(config):
        item["pending"] = _typed(config.pending.keys[name])
    if name in config.pending_deletes:
        item["delete"] = 1
    return item


def _next_id(_options: Dict[str, str]) -> str:
    return str(next(vmid for vmid in range(100, 1000000) if not store.node_of(vmid)))


def _resources(options: Dict[str, str]) -> List[Dict[str, Any]]:
    node = store.node_name()
    guests = [
        {**entry, "id": f"lxc/{entry['vmid']}", "node": node} for entry in _containers({}, node)
    ]
    return guests if options.get("type") == "vm" else [*_nodes({}), *guests]


_CT = r"/nodes/([^/]+)/lxc/(\d+)"
ROUTES: Tuple[Tuple[str, Handler], ...] = (
    (r"/version", _version),
    (r"/nodes", _nodes),
    (r"/nodes/([^/]+)/status", _node_status),
    (r"/nodes/([^/]+)/lxc", _containers),
    (rf"{_CT}/status/current", _current),
    (rf"{_CT}/config", _config),
    (rf"{_CT}/pending", _pending),
    (r"/cluster/nextid", _next_id),
    (r"/cluster/resources", _resources),
)
