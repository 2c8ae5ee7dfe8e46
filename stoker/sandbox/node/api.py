"""Stand-in: the few paths of Proxmox's API that are read here, as plain data."""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Dict, List, Tuple

from . import conf, current, ha, pending, running, schema, store, version
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
        "release": version.release(),
        "repoid": version.REPOSITORY,
        "version": version.manager(),
    }


def node_use() -> Dict[str, Any]:
    """What this node has and uses; memory in bytes."""
    with open("/proc/uptime") as file:
        uptime = int(float(file.read().split()[0]))
    page = os.sysconf("SC_PAGE_SIZE")
    total, free = (page * os.sysconf(f"SC_{name}") for name in ("PHYS_PAGES", "AVPHYS_PAGES"))
    use = {"cpu": 0, "maxcpu": os.cpu_count(), "maxmem": total, "mem": total - free}
    return {**use, "uptime": uptime}


def _nodes(_options: Dict[str, str]) -> List[Dict[str, Any]]:
    node = store.node_name()
    named = {"id": f"node/{node}", "node": node, "status": "online", "type": "node"}
    return [{**named, **node_use()}]


def _node_status(_options: Dict[str, str], node: str) -> Dict[str, Any]:
    _require_node(node)
    return node_status()


def node_status() -> Dict[str, Any]:
    """This node's load, kernel and version."""
    load = [f"{value:.2f}" for value in os.getloadavg()]
    return {
        "kversion": f"Linux {os.uname().release} {os.uname().version}",
        "loadavg": load,
        "pveversion": f"pve-manager/{version.manager()}/{version.REPOSITORY}",
        "uptime": node_use()["uptime"],
    }


def _containers(_options: Dict[str, str], node: str) -> List[Dict[str, Any]]:
    _require_node(node)
    return containers()


def containers() -> List[Dict[str, Any]]:
    """The state of every container of this node."""
    up = running.vmids()
    found = [dict(current.status(vmid, store.load(vmid), vmid in up)) for vmid in store.vmids()]
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
    raw = config.now.raw
    if options.get("snapshot"):
        if options["snapshot"] not in config.snapshots:
            raise Died(f"snapshot '{options['snapshot']}' does not exist")
        merged = config.snapshots[options["snapshot"]].keys
        raw = config.snapshots[options["snapshot"]].raw
    found: Dict[str, Any] = {name: typed(name, text) for name, text in merged.items()}
    found["digest"] = config.digest
    if raw:
        found["lxc"] = [list(pair) for pair in raw]
    return found


def typed(name: str, text: str) -> Any:
    """A value of a configuration as the API gives it: numbers as numbers."""
    key = schema.find(name)
    is_number = key is not None and key.kind in ("integer", "boolean")
    return int(text) if is_number and re.fullmatch(r"-?\d+", text) else text


def _pending(_options: Dict[str, str], node: str, vmid: str) -> List[Dict[str, Any]]:
    _require_node(node)
    config = store.load(int(vmid))
    return [_pending_item(config, name) for name in sorted({*config.now.keys, *_changes(config)})]


def _changes(config: conf.Config) -> Dict[str, str]:
    return {name: text for name, text in config.pending.keys.items() if name != "delete"}


def _pending_item(config: conf.Config, name: str) -> Dict[str, Any]:
    item: Dict[str, Any] = {"key": name}
    if name in config.now.keys:
        item["value"] = typed(name, config.now.keys[name])
    if name in _changes(config):
        item["pending"] = typed(name, config.pending.keys[name])
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


def next_id() -> str:
    """The lowest id from 100 on that no guest of the cluster has."""
    return _next_id({})


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
