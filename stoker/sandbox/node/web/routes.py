"""Stand-in: every path of the API that this node answers."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from .. import api, create, store
from ..schema import Key
from . import authentication, changing, reading
from .call import BOOLEAN, INTEGER, STRING, Call, Route

_NODE = r"/nodes/(?P<node>[^/]+)"
_CT = rf"{_NODE}/lxc/(?P<vmid>[^/]+)"
_TASK = rf"{_NODE}/tasks/(?P<upid>[^/]+)"

_POWER: Dict[str, Dict[str, Key]] = {
    "start": {"skiplock": BOOLEAN, "debug": BOOLEAN},
    "stop": {"skiplock": BOOLEAN, "overrule-shutdown": BOOLEAN},
    "shutdown": {"timeout": INTEGER, "forceStop": BOOLEAN},
    "reboot": {"timeout": INTEGER},
}


def _get(
    path: str, answer: Callable[[Call], Any], takes: Optional[Mapping[str, Key]] = None
) -> Route:
    return Route("GET", re.compile(path), answer, takes or {})


def _audited(path: str) -> Callable[[Call], Any]:
    """What `pvesh get` gives of a container, to those who may see it."""

    def answer(call: Call) -> Any:
        call.require_vm("VM.Audit")
        values = {**call.values, "current": str(int(call.is_set("current")))}
        return api.get(path.format(store.node_name(), call.vmid), values)

    return answer


def _node_status(call: Call) -> Any:
    call.require(f"/nodes/{store.node_name()}", "Sys.Audit")
    return reading.node_status(call)


def _cluster_status(call: Call) -> Any:
    call.require("/", "Sys.Audit")
    return reading.cluster_status(call)


def _snapshots(call: Call) -> Any:
    call.require_vm("VM.Audit")
    return reading.snapshots(call)


_CREATE = {**create.OPTIONS, "vmid": INTEGER, "ostemplate": STRING}
_SNAPSHOT = rf"{_CT}/snapshot"
_LISTED = {"start": INTEGER, "limit": INTEGER}
ROUTES: List[Route] = [
    _get("/version", reading.whole_version),
    _get("/nodes", reading.nodes),
    _get(rf"{_NODE}/status", _node_status),
    _get(rf"{_NODE}/lxc", reading.containers),
    _get(rf"{_CT}/status/current", _audited("/nodes/{}/lxc/{}/status/current")),
    _get(
        rf"{_CT}/config",
        _audited("/nodes/{}/lxc/{}/config"),
        {"current": BOOLEAN, "snapshot": STRING},
    ),
    _get(rf"{_CT}/pending", _audited("/nodes/{}/lxc/{}/pending")),
    _get(_SNAPSHOT, _snapshots),
    _get(rf"{_NODE}/tasks", reading.task_list, {**_LISTED, "vmid": INTEGER, "source": STRING}),
    _get(rf"{_TASK}/status", reading.task_status),
    _get(rf"{_TASK}/log", reading.task_log, _LISTED),
    _get("/cluster/nextid", lambda _call: api.next_id(), {"vmid": INTEGER}),
    _get("/cluster/resources", reading.resources, {"type": STRING}),
    _get("/cluster/status", _cluster_status),
    _get("/pools", reading.pools),
    _get("/access/permissions", reading.permissions, {"path": STRING, "userid": STRING}),
    Route(
        "POST",
        re.compile(rf"{_NODE}/lxc"),
        changing.create,
        _CREATE,
        ("vmid", "ostemplate"),
        takes_config=True,
    ),
    Route(
        "DELETE",
        re.compile(_CT),
        changing.destroy,
        {"force": BOOLEAN, "purge": BOOLEAN, "destroy-unreferenced-disks": BOOLEAN},
    ),
    Route(
        "PUT",
        re.compile(rf"{_CT}/config"),
        changing.configure,
        dict.fromkeys(("delete", "revert", "digest"), STRING),
        takes_config=True,
    ),
    Route(
        "PUT",
        re.compile(rf"{_CT}/resize"),
        changing.resize,
        dict.fromkeys(("disk", "size", "digest"), STRING),
        ("disk", "size"),
    ),
    *(
        Route("POST", re.compile(rf"{_CT}/status/(?P<verb>{verb})"), changing.power, takes)
        for verb, takes in _POWER.items()
    ),
    Route(
        "POST",
        re.compile(_SNAPSHOT),
        changing.snapshot,
        {"snapname": STRING, "description": STRING},
        ("snapname",),
    ),
    Route(
        "DELETE",
        re.compile(rf"{_SNAPSHOT}/(?P<snapname>[^/]+)"),
        changing.delete_snapshot,
        {"force": BOOLEAN},
    ),
    Route(
        "POST",
        re.compile(rf"{_SNAPSHOT}/(?P<snapname>[^/]+)/rollback"),
        changing.roll_back,
        {"start": BOOLEAN},
    ),
]
TICKET = Route(
    "POST",
    re.compile("/access/ticket"),
    lambda call: authentication.ticket(call.values),
    {**dict.fromkeys(("username", "password", "realm", "path"), STRING), "new-format": BOOLEAN},
    ("username", "password"),
)


def find(method: str, path: str) -> Optional[Tuple[Route, Dict[str, str]]]:
    """The route of a request and what stands in its path; None where there is none."""
    for route in (TICKET, *ROUTES):
        match = route.pattern.fullmatch(path)
        if match and route.method == method:
            return route, match.groupdict()
    return None
