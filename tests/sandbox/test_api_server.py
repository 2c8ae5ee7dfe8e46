"""The stand-in pveproxy in this process, over the files of a directory: who may ask what."""

import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker.sandbox import certificates
from stoker.sandbox.node import access, cluster, pveum, running, store
from stoker.sandbox.node.web import authentication, server, tasks
from tests.sandbox.api import Api, token

CONF = "arch: amd64\ncores: 2\nfeatures: nesting=1\nhostname: ct200\nmemory: 512\nswap: 0\n"
UNPRIVILEGED = CONF + "rootfs: local:200/vm-200-disk-0.raw,size=8G\nunprivileged: 1\n"
# Says what it was asked to do, and ends as a task does.
WORKER = """
import json, sys
wanted = json.load(sys.stdin)
if "log" in wanted:
    with open(wanted["log"], "a") as log:
        log.write(json.dumps([wanted["command"], wanted["values"]]) + "\\nTASK OK\\n")
else:
    print("{}")
"""
DEPLOY = "stoker@pve!deploy"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The /etc/pve of a node called pve1 with CT 200, stopped."""
    pve = tmp_path / "pve"
    (pve / "nodes/pve1/lxc").mkdir(parents=True)
    (pve / "nodes/pve1/lxc/200.conf").write_text(UNPRIVILEGED)
    monkeypatch.setattr(cluster, "ROOT", str(pve))
    monkeypatch.setattr(cluster, "node_name", lambda: "pve1")
    monkeypatch.setattr(store, "require_cluster", lambda: None)
    monkeypatch.setattr(running, "vmids", lambda: set[int]())
    monkeypatch.setattr(tasks, "LOGS", str(tmp_path / "tasks"))
    monkeypatch.setattr(tasks, "WORKER", [sys.executable, "-I", "-c", WORKER])
    waited = tmp_path / "unknown-node-s"
    waited.write_text("0")
    monkeypatch.setattr(server, "UNKNOWN_NODE", str(waited))
    return pve


@pytest.fixture
def api(root: Path) -> Iterator[Api]:
    """Its API, for nobody yet."""
    with server.Server(("127.0.0.1", 0)) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield Api("127.0.0.1", served.server_address[1])
        served.shutdown()
        thread.join()


def granted(api: Api, privileges: str, path: str = "/", separate: bool = False) -> Api:
    """The API for a token whose user has these privileges there."""
    pveum.act(["role", "add", "Wanted"], {"privs": privileges})
    pveum.act(["user", "add", "stoker@pve"], {})
    pveum.act(["acl", "modify", path], {"users": "stoker@pve", "roles": "Wanted"})
    return _token(api, "stoker@pve", "deploy", separate)


def _token(api: Api, user: str, name: str, separate: bool = False) -> Api:
    pveum.act(["user", "token", "add", user, name], {"privsep": str(int(separate))})
    full = f"{user}!{name}"
    return api.sent_by(Authorization=token(full, access.secrets()[full]))


def ticketed(api: Api, name: str = "root@pam") -> Api:
    """The API for somebody who has logged in."""
    csrf = authentication._csrf(name)
    cookie = f"PVEAuthCookie={authentication.ticket_of(name)}"
    return api.sent_by(Cookie=cookie, CSRFPreventionToken=csrf)


def test_nobody_is_told_no_ticket_before_anything_else(api: Api) -> None:
    for path in ("/version", "/nosuch", "/nodes/pve1/lxc/999/config"):
        found = api.get(path)
        assert (found.status, found.reason, found.body) == (401, "No ticket", b"")


def test_each_way_a_token_can_be_wrong_is_told(api: Api) -> None:
    good = granted(api, "VM.Audit")
    secret = good.headers["Authorization"].rpartition("=")[2]
    for given, told in {
        token(DEPLOY, "wrong"): "invalid token value!",
        token("stoker@pve!other", secret): "no such token 'other' for user 'stoker@pve'",
        token("nobody@pve!deploy", secret): "no such user ('nobody@pve')",
        "PVEAPIToken=nonsense": "no tokenid specified",
    }.items():
        found = api.sent_by(Authorization=given).get("/version")
        assert (found.status, found.reason) == (401, told)
    assert good.get("/version").data["release"] == "9.2"


def test_a_ticket_needs_its_csrf_token_to_write(api: Api) -> None:
    root = ticketed(api)
    assert root.get("/nodes").data[0]["node"] == "pve1"
    without = api.sent_by(Cookie=root.headers["Cookie"])
    assert without.get("/nodes").status == 200
    found = without.put("/nodes/pve1/lxc/200/config", cores=3)
    assert (found.status, found.reason) == (401, "Permission denied - invalid csrf token")
    assert root.put("/nodes/pve1/lxc/200/config", cores=3).data is None
    forged = api.sent_by(Cookie=root.headers["Cookie"][:-1] + "x").get("/nodes")
    assert (forged.status, forged.reason) == (401, "permission denied - invalid PVE ticket")


def test_a_wrong_password_is_an_authentication_failure(api: Api) -> None:
    found = api.post("/access/ticket", username="root@pam", password="wrong")
    assert (found.status, found.message) == (401, "authentication failure")
    found = api.post("/access/ticket", username="root@pam")
    assert found.told["errors"] == {"password": "property is missing and it is not optional"}


def test_what_may_not_be_read_is_refused_or_left_out(api: Api) -> None:
    blind = granted(api, "Sys.Audit", "/nodes")
    found = blind.get("/nodes/pve1/lxc/200/config")
    assert (found.status, found.message) == (
        403,
        "Permission check failed (/vms/200, VM.Audit)",
    )
    assert blind.get("/nodes/pve1/lxc").data == []
    assert blind.get("/cluster/resources", type="vm").data == []
    assert blind.get("/cluster/status").message == "Permission check failed (/, Sys.Audit)"
    assert blind.get("/nodes/pve1/status").data["pveversion"].startswith("pve-manager/9.2")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            {"dev0": "/dev/nvidia0,mode=0666"},
            "configuring device passthrough is only allowed for root@pam",
        ),
        ({"delete": "dev0"}, "configuring device passthrough is only allowed for root@pam"),
        (
            {"hookscript": "local:snippets/h.sh"},
            "changing the hookscript is only allowed for root@pam",
        ),
        ({"mp0": "/models,mp=/m"}, "mount point type bind is only allowed for root@pam"),
        (
            {"features": "nesting=1,keyctl=1"},
            "changing feature flags (except nesting) is only allowed for root@pam",
        ),
        ({"cores": 4}, ""),
        ({"mp0": "local:8,mp=/data"}, ""),
        ({"features": "nesting=0"}, ""),
    ],
)
def test_a_token_of_root_is_not_root(api: Api, values: dict[str, object], told: str) -> None:
    found = _token(api, "root@pam", "t1").put("/nodes/pve1/lxc/200/config", **values)
    if told:
        assert (found.status, found.message) == (403, f"Permission check failed ({told})")
    else:
        assert found.data is None
    assert ticketed(api).put("/nodes/pve1/lxc/200/config", **values).status == 200


def test_features_of_a_privileged_container_are_roots_alone(api: Api, root: Path) -> None:
    (root / "nodes/pve1/lxc/201.conf").write_text(CONF)
    found = _token(api, "root@pam", "t1").put("/nodes/pve1/lxc/201/config", features="nesting=0")
    flags = "changing feature flags for privileged container is only allowed for root@pam"
    assert found.message == f"Permission check failed ({flags})"
    made = {"vmid": 300, "ostemplate": "local:vztmpl/x.tar.zst", "unprivileged": 0}
    few = granted(api, "VM.Allocate Datastore.AllocateSpace")
    assert few.post("/nodes/pve1/lxc", **made).message == "Permission check failed (/, Sys.Modify)"


def test_each_key_needs_its_privilege(api: Api) -> None:
    few = granted(api, "VM.Config.CPU")
    for values, told in (
        ({"memory": 4096}, "/vms/200, VM.Config.Memory"),
        ({"hostname": "other"}, "/vms/200, VM.Config.Network"),
        ({"onboot": 1}, "/vms/200, VM.Config.Options"),
        ({"rootfs": "local:9"}, "/vms/200, VM.Config.Disk"),
        ({"tags": "stoker"}, "/vms/200, VM.Config.Options"),
    ):
        found = few.put("/nodes/pve1/lxc/200/config", **values)
        assert (found.status, found.message) == (403, f"Permission check failed ({told})")
    assert few.put("/nodes/pve1/lxc/200/config", cores=3).status == 200
    words = "Disk|VM.Config.CPU|VM.Config.Memory|VM.Config.Network|VM.Config.Options"
    pveum.act(["role", "modify", "Wanted"], {"privs": "VM.Audit"})
    found = few.put("/nodes/pve1/lxc/200/config", cores=3)
    assert found.message == f"Permission check failed (/vms/200, VM.Config.{words})"


def test_a_creation_needs_the_vmid_the_storage_and_the_bridge(api: Api) -> None:
    made = {
        "vmid": 300,
        "ostemplate": "local:vztmpl/x.tar.zst",
        "net0": "name=eth0,bridge=vmbr0,ip=dhcp",
        "rootfs": "local:8",
    }
    few = granted(api, "VM.Audit")
    wanted = ["VM.Allocate", "VM.Config.Network", "SDN.Use", "VM.Config.Disk"]
    for privilege, told in zip(
        [*wanted, "Datastore.AllocateSpace"],
        [
            "",
            " (/vms/300, VM.Config.Network)",
            " (/sdn/zones/localnetwork/vmbr0, SDN.Use)",
            " (/vms/300, VM.Config.Disk)",
            " (/storage/local, Datastore.AllocateSpace)",
        ],
        strict=True,
    ):
        found = few.post("/nodes/pve1/lxc", **made)
        assert (found.status, found.message) == (403, f"Permission check failed{told}")
        pveum.act(["role", "modify", "Wanted"], {"privs": privilege, "append": "1"})
    assert few.task("POST", "/nodes/pve1/lxc", **made) == "OK"


def test_a_separate_token_has_what_it_and_its_user_have(api: Api) -> None:
    own = granted(api, "VM.Audit Sys.Audit", separate=True)
    assert own.get("/nodes/pve1/lxc/200/config").status == 403
    pveum.act(["role", "add", "Own"], {"privs": "VM.Audit VM.PowerMgmt"})
    pveum.act(["acl", "modify", "/vms/200"], {"tokens": DEPLOY, "roles": "Own"})
    assert own.get("/nodes/pve1/lxc/200/config").status == 200
    assert own.post("/nodes/pve1/lxc/200/status/start").status == 403
    held = own.get("/access/permissions", path="/vms/200").data
    assert held == {"/vms/200": {"VM.Audit": 1}}


def test_a_pool_gives_its_rights_over_its_guests(api: Api) -> None:
    few = granted(api, "VM.Audit VM.PowerMgmt Pool.Audit", "/pool/gpus")
    pveum.act(["pool", "add", "gpus"], {})
    assert few.get("/nodes/pve1/lxc").data == []
    rights = access.load()
    rights.pools["gpus"] = {200}
    access.save(rights)
    row = few.get("/cluster/resources", type="vm").data[0]
    assert (row["vmid"], row["pool"], row["template"], row["status"]) == (200, "gpus", 0, "stopped")
    assert few.get("/pools").data == [{"poolid": "gpus"}]


def test_a_pool_gives_no_right_to_tag_what_is_made_in_it(api: Api) -> None:
    words = "VM.Allocate VM.Config.Disk VM.Config.Options VM.Config.Memory"
    few = granted(api, words, "/pool/gpus")
    pveum.act(["pool", "add", "gpus"], {})
    pveum.act(["role", "add", "Store"], {"privs": "Datastore.AllocateSpace"})
    pveum.act(["acl", "modify", "/storage"], {"users": "stoker@pve", "roles": "Store"})
    made = {"vmid": 300, "ostemplate": "local:vztmpl/x.tar.zst", "pool": "gpus", "memory": 64}
    found = few.post("/nodes/pve1/lxc", **made, tags="stoker")
    assert found.message == "Permission check failed (/vms/300, VM.Config.Options)"
    assert few.post("/nodes/pve1/lxc", **made, unprivileged=1).status == 200


def test_a_form_is_taken_apart_as_the_real_one_does(api: Api) -> None:
    root = ticketed(api)
    assert server._fields("net0=name=eth0&tags=a%3Bb+c&delete=x&delete=y") == {
        "net0": "name",
        "tags": "a;b c",
        "delete": "x\0y",
    }
    found = root.raw("PUT", "/nodes/pve1/lxc/200/config", "tags=a;b")
    assert (found.status, found.message) == (400, "value without key")
    assert root.raw("PUT", "/nodes/pve1/lxc/200/config", "tags=a%3Bb").status == 200
    both = root.raw("PUT", "/nodes/pve1/lxc/200/config?memory=x", "memory=600")
    assert "got 'x'" in both.told["errors"]["memory"]


def test_parameters_are_refused_all_at_once_by_name(api: Api) -> None:
    root = ticketed(api)
    found = root.put("/nodes/pve1/lxc/200/config", memory="x", nosuch=1, dev0="fuse")
    assert (found.status, found.message) == (400, "Parameter verification failed.")
    assert found.told["data"] is None
    assert found.told["errors"] == {
        "memory": "type check ('integer') failed - got 'x'",
        "nosuch": "property is not defined in schema and the schema does not allow additional "
        "properties",
        "dev0": "invalid format - format error\n"
        "dev0.path: invalid format - fuse is not a valid device path\n",
    }
    found = root.post("/nodes/pve1/lxc")
    missing = "property is missing and it is not optional"
    assert found.told["errors"] == {"ostemplate": missing, "vmid": missing}
    assert root.get("/nodes/pve1/lxc/99/config").told["errors"] == {
        "vmid": "invalid format - value does not look like a valid VM ID\n"
    }
    found = root.raw("PUT", "/nodes/pve1/lxc/200/config", "net0=name=eth0,bridge=vmbr0&loose")
    assert (found.status, found.message) == (400, "value without key")


def test_what_is_not_there_is_not_implemented(api: Api) -> None:
    root = ticketed(api)
    found = root.get("/nosuch")
    assert (found.status, found.message) == (501, "Method 'GET /nosuch' not implemented")
    found = root.post("/nodes/pve1/lxc/200/exec", command="ls")
    assert found.status == 501


def test_a_task_is_known_by_its_upid_alone(api: Api) -> None:
    root = ticketed(api)
    upid = root.post("/nodes/pve1/lxc/200/status/start").data
    assert root.ended(upid) == "OK"
    shown = root.get(f"/nodes/pve1/tasks/{upid}/status").data
    assert (shown["type"], shown["id"], shown["user"]) == ("vzstart", "200", "root@pam")
    lines = root.get(f"/nodes/pve1/tasks/{upid}/log", start=0, limit=50).data
    assert [line["n"] for line in lines] == [1, 2]
    assert json.loads(lines[0]["t"]) == ["start", {"vmid": "200"}]
    row = root.get("/nodes/pve1/tasks").data[0]
    assert (row["upid"], row["status"]) == (upid, "OK")
    found = root.get("/nodes/pve1/tasks/nonsense/status")
    assert found.told["errors"] == {"upid": "unable to parse worker upid"}
    gone = upid.replace(":vzstart:", ":vzstop:")
    assert root.get(f"/nodes/pve1/tasks/{gone}/status").told["errors"] == {"upid": "no such task"}
    other = granted(api, "VM.Audit")
    found = other.get(f"/nodes/pve1/tasks/{upid}/status")
    assert found.message == "Permission check failed (/nodes/pve1, Sys.Audit)"
    assert other.get("/nodes/pve1/tasks").data == []


def test_a_node_that_is_down_is_595_and_its_guests_are_unknown(api: Api, root: Path) -> None:
    (root / "nodes/pve2/lxc").mkdir(parents=True)
    (root / "nodes/pve2/lxc/300.conf").write_text(CONF + "tags: stoker\nlock: backup\n")
    listed = {"pve1": {"id": 1, "ip": "127.0.0.1"}, "pve2": {"id": 2, "ip": "127.0.0.2"}}
    about = {"name": "two", "version": 2, "nodes": 2, "quorate": 1}
    (root / ".members").write_text(json.dumps({"cluster": about, "nodelist": listed}))
    certificates.authority(root, "two")
    me = ticketed(api)
    rows = me.get("/cluster/status").data
    assert [(row["type"], row["name"], row.get("online")) for row in rows] == [
        ("cluster", "two", None),
        ("node", "pve1", 1),
        ("node", "pve2", 0),
    ]
    assert rows[0]["quorate"] == 1
    guest = me.get("/cluster/resources", type="vm").data[1]
    assert (guest["node"], guest["status"]) == ("pve2", "unknown")
    assert (guest["tags"], guest["lock"]) == ("stoker", "backup")
    found = me.get("/nodes/pve2/lxc/300/config")
    assert (found.status, found.message) == (595, "Connection refused")


def test_an_unknown_node_is_500_after_a_name_lookup(api: Api) -> None:
    found = ticketed(api).get("/nodes/nosuch/lxc")
    assert found.status == 500
    assert found.message.startswith("hostname lookup 'nosuch' failed - failed to get address info")


def test_without_quorum_nothing_is_written(api: Api, root: Path) -> None:
    me = ticketed(api)
    about = {"name": "one", "version": 2, "nodes": 3, "quorate": 0}
    listed = {"pve1": {"id": 1, "ip": "127.0.0.1"}}
    (root / ".members").write_text(json.dumps({"cluster": about, "nodelist": listed}))
    made = {"vmid": 300, "ostemplate": "local:vztmpl/x.tar.zst"}
    found = me.post("/nodes/pve1/lxc", **made)
    assert (found.status, found.message) == (500, "cluster not ready - no quorum?")
    assert me.get("/nodes/pve1/lxc/200/config").status == 200
    assert me.get("/cluster/status").data[0]["quorate"] == 0


def test_a_read_costs_milliseconds_and_a_connection_carries_many(api: Api) -> None:
    me = ticketed(api)
    began = time.process_time()
    for _ in range(50):
        assert me.get("/nodes/pve1/lxc/200/config").status == 200
    # Client and server are this one process; the real one takes 7 to 29 ms.
    assert (time.process_time() - began) / 50 < 0.02


def test_an_id_that_is_taken_and_a_storage_that_is_not_there_are_refused_at_once(api: Api) -> None:
    me, made = ticketed(api), {"vmid": 200, "ostemplate": "local:vztmpl/x.tar.zst"}
    found = me.post("/nodes/pve1/lxc", **made)
    assert (found.status, found.message) == (500, "CT 200 already exists on node 'pve1'")
    found = me.post("/nodes/pve1/lxc", **{**made, "vmid": 300, "storage": "nosuch"})
    assert found.message == "storage 'nosuch' does not exist"
    assert me.get("/cluster/nextid").data == "100"


def test_a_digest_and_types_come_with_a_configuration(api: Api, root: Path) -> None:
    with (root / "nodes/pve1/lxc/200.conf").open("a") as file:
        file.write("lxc.cgroup2.devices.allow: c 195:* rwm\n[pve:pending]\nmemory: 1024\n")
    me = ticketed(api)
    now = me.get("/nodes/pve1/lxc/200/config", current=1).data
    assert (now["memory"], now["unprivileged"], now["hostname"]) == (512, 1, "ct200")
    assert now["lxc"] == [["lxc.cgroup2.devices.allow", "c 195:* rwm"]]
    assert len(now["digest"]) == 40
    assert me.get("/nodes/pve1/lxc/200/config").data["memory"] == 1024
    waiting = {row["key"]: row for row in me.get("/nodes/pve1/lxc/200/pending").data}
    assert waiting["memory"] == {"key": "memory", "value": 512, "pending": 1024}
