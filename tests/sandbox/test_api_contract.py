"""The same requests to fakepve and to the stand-in pveproxy: status, envelope, types, message.

fakepve is made from Proxmox's own schema and error catalogue by others, so it is a second witness
beside what was measured. Both are served by this process; neither has a container that runs
anything. What differs is in DIFFERENT, each with its reason.
"""

import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stoker.sandbox.node import cluster, running, store
from stoker.sandbox.node.web import authentication, server, tasks
from tests.sandbox.api import Api, Reply, logged_in

CT = "/nodes/pve1/lxc"
TEMPLATE = "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst"
CONF = (
    "arch: amd64\nhostname: {name}\nmemory: 512\nostype: debian\nswap: 512\nunprivileged: 1\n"
    "rootfs: local-zfs:vm-{vmid}-disk-0,size=8G\n"
)
# The worker of the node over the files of a directory; CT 200 is one that runs.
WORKER = """
import sys
sys.path.insert(0, "{checkout}")
from stoker.sandbox.node import cluster, running, store
cluster.ROOT, store.LOCKS = "{pve}", "{pve}/locks"
cluster.node_name = lambda: "pve1"
running.vmids = lambda: {{200}}
from stoker.sandbox.node.web import work
sys.exit(work.main())
"""
NO_TASK = "UPID:pve1:00000001:00000001:00000001:vzstart:106:root@pam:"
Case = tuple[str, str, dict[str, object]]
CASES: dict[str, Case] = {
    "version": ("GET", "/version", {}),
    "nodes": ("GET", "/nodes", {}),
    "containers": ("GET", CT, {}),
    "current": ("GET", f"{CT}/200/status/current", {}),
    "current of a locked one": ("GET", f"{CT}/104/status/current", {}),
    "config": ("GET", f"{CT}/106/config", {}),
    "config now": ("GET", f"{CT}/106/config", {"current": 1}),
    "pending": ("GET", f"{CT}/106/pending", {}),
    "snapshots": ("GET", f"{CT}/106/snapshot", {}),
    "resources": ("GET", "/cluster/resources", {"type": "vm"}),
    "cluster": ("GET", "/cluster/status", {}),
    "next id": ("GET", "/cluster/nextid", {}),
    "pools": ("GET", "/pools", {}),
    "tasks": ("GET", "/nodes/pve1/tasks", {}),
    "permissions": ("GET", "/access/permissions", {}),
    "unknown config": ("GET", f"{CT}/999/config", {}),
    "unknown current": ("GET", f"{CT}/999/status/current", {}),
    "no path": ("GET", "/nosuch", {}),
    "no exec": ("POST", f"{CT}/200/exec", {"command": "ls"}),
    "short vmid": ("GET", f"{CT}/99/config", {}),
    "start of a running one": ("POST", f"{CT}/200/status/start", {}),
    "stop of a stopped one": ("POST", f"{CT}/106/status/stop", {}),
    "shutdown of a stopped one": ("POST", f"{CT}/106/status/shutdown", {}),
    "reboot of a stopped one": ("POST", f"{CT}/106/status/reboot", {}),
    "start of a locked one": ("POST", f"{CT}/104/status/start", {}),
    "start of nothing": ("POST", f"{CT}/999/status/start", {}),
    "set": ("PUT", f"{CT}/106/config", {"memory": 600, "tags": "b a"}),
    "set nothing": ("PUT", f"{CT}/106/config", {}),
    "set of a locked one": ("PUT", f"{CT}/104/config", {"memory": 600}),
    "set with an old digest": ("PUT", f"{CT}/106/config", {"memory": 700, "digest": "0" * 40}),
    "set a bad number": ("PUT", f"{CT}/106/config", {"memory": "x"}),
    "set too little": ("PUT", f"{CT}/106/config", {"memory": 1}),
    "set an unknown key": ("PUT", f"{CT}/106/config", {"nosuch": 1}),
    "set a raw line": ("PUT", f"{CT}/106/config", {"lxc.idmap": "u 0 0 1"}),
    "set a bad device": ("PUT", f"{CT}/106/config", {"dev0": "fuse"}),
    "set what is read-only": ("PUT", f"{CT}/106/config", {"unprivileged": 0}),
    "delete what must be": ("PUT", f"{CT}/106/config", {"delete": "memory"}),
    "delete what is unknown": ("PUT", f"{CT}/106/config", {"delete": "nosuch"}),
    "create of a taken id": ("POST", CT, {"vmid": 106, "ostemplate": TEMPLATE}),
    "create of nothing": ("POST", CT, {}),
    "create on no storage": (
        "POST",
        CT,
        {"vmid": 300, "ostemplate": TEMPLATE, "storage": "nosuch"},
    ),
    "create in no pool": ("POST", CT, {"vmid": 300, "ostemplate": TEMPLATE, "pool": "nosuch"}),
    "grow": ("PUT", f"{CT}/106/resize", {"disk": "rootfs", "size": "9G"}),
    "shrink": ("PUT", f"{CT}/106/resize", {"disk": "rootfs", "size": "1G"}),
    "grow by no size": ("PUT", f"{CT}/106/resize", {"disk": "rootfs", "size": "much"}),
    "snapshot of a reserved name": ("POST", f"{CT}/106/snapshot", {"snapname": "current"}),
    "snapshot without a name": ("POST", f"{CT}/106/snapshot", {}),
    "delete no snapshot": ("DELETE", f"{CT}/106/snapshot/nosuch", {}),
    "destroy a running one": ("DELETE", f"{CT}/200", {}),
    "destroy a locked one": ("DELETE", f"{CT}/104", {}),
    "destroy nothing": ("DELETE", f"{CT}/999", {}),
    "no task": ("GET", f"/nodes/pve1/tasks/{NO_TASK}/log", {}),
    "no UPID": ("GET", "/nodes/pve1/tasks/x/status", {}),
}  # fmt: skip
# Case -> why the two may differ, and that the stand-in is the one that follows a real node.
_NO_BODY = "fakepve knows the whole schema and answers 404 in plain text; 501 was measured"
_TASK = "fakepve answers 500; 400 with a complaint about upid was measured"
DIFFERENT: dict[str, str] = {
    "no path": _NO_BODY,
    "no exec": _NO_BODY,
    "set a bad device": "fakepve takes any path; the complaint was measured",
    "no task": _TASK,
    "no UPID": _TASK,
}


@pytest.fixture
def standin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """The stand-in, for root@pam."""
    pve = tmp_path / "pve"
    (pve / "nodes/pve1/lxc").mkdir(parents=True)
    for vmid, more in ((104, "lock: backup\n"), (106, ""), (200, "")):
        text = CONF.format(vmid=vmid, name=f"CT{vmid}") + more
        (pve / f"nodes/pve1/lxc/{vmid}.conf").write_text(text)
    monkeypatch.setattr(cluster, "ROOT", str(pve))
    monkeypatch.setattr(cluster, "node_name", lambda: "pve1")
    monkeypatch.setattr(store, "require_cluster", lambda: None)
    monkeypatch.setattr(running, "vmids", lambda: {200})
    monkeypatch.setattr(running, "details", lambda vmid: {"pid": 4242, "uptime": 7})
    monkeypatch.setattr(tasks, "LOGS", str(tmp_path / "tasks"))
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER.format(pve=pve, checkout=Path(__file__).parents[2]))
    monkeypatch.setattr(tasks, "WORKER", [sys.executable, str(worker)])
    with server.Server(("127.0.0.1", 0)) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        cookie = f"PVEAuthCookie={authentication.ticket_of('root@pam')}"
        headers = {"Cookie": cookie, "CSRFPreventionToken": authentication._csrf("root@pam")}
        yield Api("127.0.0.1", served.server_address[1], "", headers)
        served.shutdown()
        thread.join()


@pytest.fixture
def witness(fakepve: Any, fakepve_cafile: str) -> Api:
    """fakepve, for root@pam."""
    for vmid, status, lock in (
        (104, "stopped", "backup"),
        (106, "stopped", None),
        (200, "running", None),
    ):
        fakepve.add_ct(vmid, status=status, lock=lock)
    api = Api("127.0.0.1", fakepve.port, fakepve_cafile)
    return logged_in(api, "root@pam", "secret")


def seen(api: Api, reply: Reply) -> dict[str, Any]:
    """What a client can tell of an answer, apart from numbers that are of a moment."""
    if not reply.body.startswith(b"{"):
        return {"status": reply.status, "reason": reply.reason}
    told = reply.told
    found: dict[str, Any] = {"status": reply.status, "envelope": sorted(told)}
    data = told.get("data")
    if isinstance(data, str) and data.startswith("UPID:"):
        found["upid"] = data.split(":")[5:8]
        found["ended"] = api.ended(data)
    elif data is not None:
        found["data"] = type(data).__name__
    if reply.status != 200:
        found["message"] = reply.message
        found["reason"] = reply.reason
        found["errors"] = told.get("errors", {})
    return found


def types(data: Any) -> dict[str, set[str]]:
    """The types of each field, over all rows of a list."""
    rows = data if isinstance(data, list) else [data]
    found: dict[str, set[str]] = {}
    for row in (row for row in rows if isinstance(row, dict)):
        for name, value in row.items():
            # JSON has one kind of number.
            kind = "number" if type(value) in (int, float) else type(value).__name__
            found.setdefault(name, set()).add(kind)
    return found


@pytest.mark.parametrize("name", [name for name in CASES if name not in DIFFERENT])
def test_both_answer_alike(name: str, standin: Api, witness: Api) -> None:
    method, path, values = CASES[name]
    ours, theirs = standin.ask(method, path, **values), witness.ask(method, path, **values)
    assert seen(standin, ours) == seen(witness, theirs)
    if ours.status == 200:
        mine, other = types(ours.data), types(theirs.data)
        assert {field: mine[field] for field in mine if field in other} == {
            field: other[field] for field in mine if field in other
        }


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_said_to_differ_does(name: str, standin: Api, witness: Api) -> None:
    method, path, values = CASES[name]
    ours, theirs = standin.ask(method, path, **values), witness.ask(method, path, **values)
    same = seen(standin, ours) == seen(witness, theirs)
    if same and ours.status == 200:
        mine, other = types(ours.data), types(theirs.data)
        same = all(mine[field] == other[field] for field in mine if field in other)
    assert not same, f"{name}: no longer differs; take it out of DIFFERENT"


def test_nobody_is_asked_for_a_ticket_by_both(standin: Api, witness: Api) -> None:
    for api in (standin, witness):
        assert api.sent_by().get("/version").status == 401


def test_a_upid_has_the_same_form(standin: Api, witness: Api) -> None:
    for api in (standin, witness):
        upid = api.post(f"{CT}/104/status/start").data
        form = r"UPID:pve1:[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:vzstart:104:root@pam:"
        assert re.fullmatch(form, upid)
