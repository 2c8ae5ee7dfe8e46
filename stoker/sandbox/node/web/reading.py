"""Stand-in: what the API tells, of one node and of the whole cluster."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List

from .. import access, api, cluster, conf, running, store, version
from . import peers, tasks
from .call import Call

Row = Dict[str, Any]


def whole_version(_call: Call) -> Row:
    """GET /version."""
    return {
        "release": version.release(),
        "repoid": version.REPOSITORY,
        "version": version.manager(),
    }


def nodes(call: Call) -> List[Row]:
    """GET /nodes: what they use only to those who may see that."""
    return [_node(call, name) for name in sorted(cluster.addresses())]


def _node(call: Call, name: str) -> Row:
    row: Row = {"id": f"node/{name}", "level": "", "node": name, "type": "node"}
    row["status"] = "online" if cluster.online(name) else "offline"
    if name == store.node_name() and call.may(f"/nodes/{name}", "Sys.Audit"):
        row.update(api.node_use())
    return row


def containers(call: Call) -> List[Row]:
    """GET /nodes/N/lxc: those that the sender may see."""
    return [row for row in api.containers() if call.may(f"/vms/{row['vmid']}", "VM.Audit")]


def snapshots(call: Call) -> List[Row]:
    """GET /nodes/N/lxc/ID/snapshot: with the place it is at, `current`."""
    found = store.load(call.vmid)
    rows = [_snapshot(name, section) for name, section in sorted(found.snapshots.items())]
    now: Row = {"name": "current", "description": "You are here!", "digest": found.digest}
    now["running"] = int(running.is_running(call.vmid))
    if "parent" in found.now.keys:
        now["parent"] = found.now.keys["parent"]
    return [*rows, now]


def _snapshot(name: str, section: conf.Section) -> Row:
    row: Row = {"name": name, "description": section.keys.get("description", "")}
    row["snaptime"] = int(section.keys.get("snaptime", "0"))
    if "parent" in section.keys:
        row["parent"] = section.keys["parent"]
    return row


def resources(call: Call) -> List[Row]:
    """GET /cluster/resources: guests that the sender may see, and without `type=vm` the nodes."""
    kind = call.values.get("type")
    rows: List[Row] = []
    if kind in (None, "vm"):
        rows += [row for row in _guests(call) if call.may(f"/vms/{row['vmid']}", "VM.Audit")]
    if kind in (None, "node"):
        rows += nodes(call)
    return rows


def _guests(call: Call) -> Iterator[Row]:
    for name in sorted(cluster.addresses()):
        here = name == store.node_name()
        states = peers.by_vmid(api.containers()) if here else peers.states(name)
        for vmid in store.vmids(name):
            yield _guest(call.access, name, vmid, states)


def _guest(rights: access.Access, node: str, vmid: int, states: Dict[int, Row]) -> Row:
    keys = store.load(vmid, node).now.keys
    row: Row = {"id": f"lxc/{vmid}", "node": node, "type": "lxc", "vmid": vmid}
    row["name"] = keys.get("hostname", f"CT{vmid}")
    row["template"] = int(keys.get("template", "0"))
    # Of a node that does not answer nobody knows.
    row["status"] = "unknown"
    row.update(states.get(vmid, {}))
    for name in ("lock", "tags"):
        if name in keys:
            row[name] = keys[name]
    pool = rights.pool_of(vmid)
    return {**row, "pool": pool} if pool else row


def cluster_status(_call: Call) -> List[Row]:
    """GET /cluster/status: of a node that is alone no entry of a cluster."""
    told = cluster.members()
    rows: List[Row] = []
    if "cluster" in told:
        of_all = told["cluster"]
        rows.append({"type": "cluster", "id": "cluster", "version": 1, **of_all})
    for name, one in sorted(told["nodelist"].items()):
        rows.append(
            {
                "type": "node",
                "id": f"node/{name}",
                "name": name,
                "ip": one["ip"],
                "nodeid": one["id"] if "cluster" in told else 0,
                "online": int(cluster.online(name)),
                "local": int(name == store.node_name()),
                "level": "",
            }
        )
    return rows


def pools(call: Call) -> List[Row]:
    """GET /pools: those that the sender may see."""
    return [
        {"poolid": name}
        for name in sorted(call.access.pools)
        if call.may(f"/pool/{name}", "Pool.Audit", "Pool.Allocate")
    ]


def permissions(call: Call) -> Dict[str, Dict[str, int]]:
    """GET /access/permissions of the sender: by path, each privilege with whether it goes down."""
    base = ("/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms")
    paths = [call.values["path"]] if "path" in call.values else {*base, *_listed(call.access)}
    found = {path: call.access.privileges(call.user, path) for path in sorted(paths)}
    return {path: dict.fromkeys(sorted(held), 1) for path, held in found.items() if held}


def _listed(rights: access.Access) -> List[str]:
    return [path for path, _who, _role in rights.acl]


def task_list(call: Call) -> List[Row]:
    """GET /nodes/N/tasks: the sender's own, or all of them with Sys.Audit."""
    rows = tasks.listing()
    if not call.may(f"/nodes/{store.node_name()}", "Sys.Audit"):
        rows = [row for row in rows if row["user"] == call.user]
    start = int(call.values.get("start", "0"))
    if "vmid" in call.values:
        rows = [row for row in rows if row["id"] == call.values["vmid"]]
    return rows[start : start + int(call.values.get("limit", "50"))]


def task_status(call: Call) -> Row:
    """GET /nodes/N/tasks/UPID/status."""
    _own_task(call)
    return tasks.status(call.place["upid"])


def task_log(call: Call) -> List[Row]:
    """GET /nodes/N/tasks/UPID/log."""
    _own_task(call)
    start, limit = (int(call.values.get(name, low)) for name, low in (("start", 0), ("limit", 50)))
    return tasks.log(call.place["upid"], start, limit)


def _own_task(call: Call) -> None:
    task = tasks.known(call.place["upid"])
    if task.user.split("!")[0] != call.user.split("!")[0]:
        call.require(f"/nodes/{task.node}", "Sys.Audit")


def node_status(call: Call) -> Row:
    """GET /nodes/N/status."""
    memory = api.node_use()
    return {
        **api.node_status(),
        "cpuinfo": {"cpus": os.cpu_count(), "sockets": 1},
        "memory": {"total": memory["maxmem"], "used": memory["mem"]},
    }
