"""A node's API answers as a real one did, sentence by sentence of what was measured.

On a node whose containers are 104 (stopped, `lock: backup`), 106 (stopped), 200 (running) and 201.
"""

import base64
import re
from collections.abc import Iterator

import pytest

from stoker.sandbox import switches
from stoker.sandbox.node.web.server import UNKNOWN_NODE
from tests.sandbox import api as apis
from tests.sandbox.api import Api
from tests.sandbox.pct_node import NodeShell

pytestmark = pytest.mark.sandbox

STOPPED = (
    "arch: amd64\nhostname: still\nmemory: 512\nostype: debian\nunprivileged: 1\n"
    "rootfs: local:106/vm-106-disk-0.raw,size=8G\n"
)
TEMPLATE = "local:vztmpl/debian-12-standard.tar.zst"
UPID = r"UPID:pve1:[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:%s:%s:stoker@pve!deploy:"
CT = "/nodes/pve1/lxc"


@pytest.fixture(scope="module")
def node(pct_node: NodeShell) -> Iterator[NodeShell]:
    """The node with the containers of the recording."""
    pct_node.write("/etc/pve/lxc/106.conf", STOPPED)
    pct_node.write("/etc/pve/lxc/104.conf", STOPPED + "lock: backup\n")
    pct_node.write(UNKNOWN_NODE, "0.1\n")
    yield pct_node
    pct_node.good("rm", "-f", "/etc/pve/lxc/104.conf", "/etc/pve/lxc/106.conf", UNKNOWN_NODE)


@pytest.fixture
def api(node: NodeShell) -> Api:
    """For the deployment token."""
    return apis.of(node.state)


@pytest.fixture
def root(node: NodeShell) -> Api:
    """For root@pam, who has logged in with a password."""
    return apis.logged_in(
        apis.of(node.state), "root@pam", node.state.root_password.read_text().strip()
    )


def test_values_must_be_url_encoded(api: Api) -> None:
    found = api.raw("PUT", f"{CT}/200/config", "loose")
    assert (found.status, found.message) == (400, "value without key")
    assert api.put(f"{CT}/200/config", description="a=b, c & d\nsecond").data is None
    assert api.get(f"{CT}/200/config").data["description"] == "a=b, c & d\nsecond"
    assert api.put(f"{CT}/200/config", delete="description").data is None


def test_every_path_that_was_listed_answers(api: Api, root: Api) -> None:
    assert api.get("/version").data["version"] == "9.2.11"
    assert [row["node"] for row in api.get("/nodes").data] == ["pve1"]
    assert root.get("/nodes/pve1/status").data["pveversion"].startswith("pve-manager/9.2.11")
    assert [row["vmid"] for row in api.get(CT).data] == [104, 106, 200, 201]
    running = api.get(f"{CT}/200/status/current").data
    assert (running["status"], running["ha"]) == ("running", {"managed": 0})
    assert running["pid"] > 0 and running["uptime"] >= 0
    assert api.get(f"{CT}/104/status/current").data["lock"] == "backup"
    assert len(api.get(f"{CT}/200/config", current=1).data["digest"]) == 40
    assert api.get("/cluster/nextid").data == "100"
    rows = api.get("/cluster/resources", type="vm").data
    assert [(row["id"], row["status"], row.get("lock")) for row in rows] == [
        ("lxc/104", "stopped", "backup"),
        ("lxc/106", "stopped", None),
        ("lxc/200", "running", None),
        ("lxc/201", "running", None),
    ]


def test_raw_lines_are_pairs(node: NodeShell, api: Api) -> None:
    node.good("sed", "-i", "$a lxc.cgroup2.devices.allow: c 195:* rwm", "/etc/pve/lxc/106.conf")
    found = api.get(f"{CT}/106/config").data
    assert found["lxc"] == [["lxc.cgroup2.devices.allow", "c 195:* rwm"]]
    assert api.put(f"{CT}/106/config", lxc="x").status == 400


def test_a_container_has_no_exec(api: Api) -> None:
    assert api.post(f"{CT}/200/exec", command="ls").status == 501


@pytest.mark.parametrize(
    ("path", "kind", "subject", "ended"),
    [
        ("104/status/start", "vzstart", "104", "CT is locked (backup)"),
        (
            "999/status/start",
            "vzstart",
            "999",
            "Configuration file 'nodes/pve1/lxc/999.conf' does not exist",
        ),
    ],
)
def test_a_200_with_a_upid_is_no_success(
    api: Api, path: str, kind: str, subject: str, ended: str
) -> None:
    upid = api.post(f"{CT}/{path}").data
    assert re.fullmatch(UPID % (kind, subject), upid)
    assert api.ended(upid) == ended


def test_a_running_container_that_is_locked_is_not_stopped(node: NodeShell, api: Api) -> None:
    node.good("sed", "-i", "1i lock: snapshot", "/etc/pve/lxc/201.conf")
    try:
        for verb in ("stop", "shutdown", "reboot"):
            ended = api.task("POST", f"{CT}/201/status/{verb}")
            assert ended == "CT is locked (snapshot)"
    finally:
        node.good("sed", "-i", "/^lock: /d", "/etc/pve/lxc/201.conf")


def test_a_missing_template_ends_the_task_and_leaves_nothing(api: Api) -> None:
    missing = "local:vztmpl/nosuch.tar.zst"
    ended = api.task("POST", CT, vmid=111, ostemplate=missing, storage="local")
    assert ended == f"unable to create CT 111 - volume '{missing}' does not exist"
    found = api.get(f"{CT}/111/config")
    assert found.message == "Configuration file 'nodes/pve1/lxc/111.conf' does not exist"


@pytest.mark.parametrize(
    ("method", "path", "values", "told"),
    [
        ("POST", f"{CT}/200/status/start", {}, "CT 200 already running"),
        ("POST", f"{CT}/106/status/stop", {}, "CT 106 not running"),
        ("POST", f"{CT}/106/status/shutdown", {}, "CT 106 not running"),
        ("POST", f"{CT}/106/status/reboot", {}, "VM 106 not running"),
        *(
            (
                "GET",
                f"{CT}/999/{what}",
                {},
                "Configuration file 'nodes/pve1/lxc/999.conf' does not exist",
            )
            for what in ("config", "status/current", "pending")
        ),
        ("PUT", f"{CT}/104/config", {"memory": 600}, "CT is locked (backup)"),
        (
            "PUT",
            f"{CT}/106/config",
            {"memory": 600, "digest": "0" * 40},
            "detected modified configuration - file changed by other user? Try again.",
        ),
        (
            "POST",
            CT,
            {"vmid": 106, "ostemplate": TEMPLATE},
            "CT 106 already exists on node 'pve1'",
        ),
        ("PUT", f"{CT}/106/config", {}, "no options specified"),
        (
            "PUT",
            f"{CT}/106/config",
            {"unprivileged": 0},
            "unable to modify read-only option: 'unprivileged'",
        ),
        (
            "PUT",
            f"{CT}/106/config",
            {"delete": "memory"},
            "unable to delete required option 'memory'",
        ),
        ("DELETE", f"{CT}/200", {}, "unable to destroy CT 200 - container is running"),
        ("DELETE", f"{CT}/104", {}, "CT is locked (backup)"),
        (
            "GET",
            "/nodes/nosuch/lxc",
            {},
            "hostname lookup 'nosuch' failed - failed to get address info for: nosuch: "
            "Name or service not known",
        ),
    ],
)
def test_what_is_refused_at_once_is_500(
    api: Api, method: str, path: str, values: dict[str, object], told: str
) -> None:
    found = api.ask(method, path, **values)
    assert (found.status, found.told) == (500, {"data": None, "message": f"{told}\n"})
    assert found.reason == told


def test_bad_parameters_are_400(api: Api) -> None:
    found = api.put(f"{CT}/106/config", nosuch="1", **{"lxc.idmap": "u 0 0 1"})
    words = "property is not defined in schema and the schema does not allow additional properties"
    assert (found.status, found.told["errors"]) == (400, {"nosuch": words, "lxc.idmap": words})
    found = api.put(f"{CT}/106/config", delete="nosuch")
    assert found.told["errors"] == {"delete": "unknown option 'nosuch'"}
    upid = "UPID:pve1:00000001:00000001:00000001:vzstart:106:root@pam:"
    assert api.get(f"/nodes/pve1/tasks/{upid}/status").told["errors"] == {"upid": "no such task"}
    found = api.get("/nodes/pve1/tasks/x/log")
    assert "unable to parse worker upid" in found.told["errors"]["upid"]


def test_401_403_and_501(api: Api) -> None:
    found = api.sent_by().get("/version")
    assert (found.status, found.reason) == (401, "No ticket")
    wrong = api.sent_by(Authorization=apis.token("stoker@pve!deploy", "wrong"))
    assert wrong.get("/version").status == 401
    found = api.get("/cluster/status")
    assert (found.status, found.message) == (403, "Permission check failed (/, Sys.Audit)")
    found = api.get("/nosuch")
    assert (found.status, found.message) == (501, "Method 'GET /nosuch' not implemented")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"dev0": "/dev/nvidia0"}, "configuring device passthrough is only allowed for root@pam"),
        (
            {"hookscript": "local:snippets/h.sh"},
            "changing the hookscript is only allowed for root@pam",
        ),
        (
            {"mp3": "/models,mp=/models,ro=1"},
            "mount point type bind is only allowed for root@pam",
        ),
        (
            {"features": "nesting=1,keyctl=1"},
            "changing feature flags (except nesting) is only allowed for root@pam",
        ),
    ],
)
def test_a_root_token_without_separate_privileges_is_not_root(
    node: NodeShell, api: Api, values: dict[str, object], told: str
) -> None:
    words = ("pveum", "user", "token", "add", "root@pam", "t1", "--privsep", "0")
    node.good(*words)
    try:
        secrets = dict(
            line.split() for line in node.good("cat", "/etc/pve/priv/token.cfg").splitlines()
        )
        header = apis.token("root@pam!t1", secrets["root@pam!t1"])
        found = api.sent_by(Authorization=header).put(f"{CT}/106/config", **values)
        assert (found.status, found.message) == (403, f"Permission check failed ({told})")
    finally:
        node.good("pveum", "user", "token", "remove", "root@pam", "t1")


def test_a_ticket_of_root_may_pass_a_device_at_once(node: NodeShell, root: Api) -> None:
    assert root.put(f"{CT}/200/config", dev7="/dev/null,mode=0666").data is None
    assert node.run("pct", "exec", "200", "--", "test", "-c", "/dev/null").code == 0
    assert root.get(f"{CT}/200/config", current=1).data["dev7"] == "/dev/null,mode=0666"
    assert root.put(f"{CT}/200/config", dev7="/dev/null,mode=0600").data is None
    waiting = {row["key"]: row for row in root.get(f"{CT}/200/pending").data}["dev7"]
    assert waiting == {
        "key": "dev7",
        "value": "/dev/null,mode=0666",
        "pending": "/dev/null,mode=0600",
    }
    assert root.put(f"{CT}/200/config", revert="dev7").data is None
    assert root.put(f"{CT}/200/config", delete="dev7").data is None
    waiting = {row["key"]: row for row in root.get(f"{CT}/200/pending").data}["dev7"]
    assert waiting["delete"] == 1
    assert root.put(f"{CT}/200/config", revert="dev7").data is None
    missing = root.put(f"{CT}/200/config", dev8="/dev/nosuch")
    assert (missing.status, missing.message) == (500, "Device /dev/nosuch does not exist")


def test_a_life_by_tasks_alone(node: NodeShell, api: Api) -> None:
    made = {"vmid": 120, "ostemplate": TEMPLATE, "rootfs": "local-zfs:4", "features": "nesting=1"}
    upid = api.post(CT, **made, hostname="life", tags="stoker,b").data
    assert re.fullmatch(UPID % ("vzcreate", "120"), upid)
    # While it is being made it is locked.
    early = api.get(f"{CT}/120/config").told["data"] or {}
    assert early.get("lock", "create") == "create"
    assert api.ended(upid) == "OK"
    found = api.get(f"{CT}/120/config").data
    assert (found["unprivileged"], found["hostname"]) == (1, "life")
    assert api.task("PUT", f"{CT}/120/resize", disk="rootfs", size="6G") == "OK"
    assert api.get(f"{CT}/120/config").data["rootfs"].endswith("size=6G")
    shrunk = api.put(f"{CT}/120/resize", disk="rootfs", size="1G")
    assert (shrunk.status, shrunk.message) == (500, "unable to shrink disk size")
    assert api.task("POST", f"{CT}/120/snapshot", snapname="before", description="d") == "OK"
    rows = api.get(f"{CT}/120/snapshot").data
    assert [row["name"] for row in rows] == ["before", "current"]
    assert rows[1]["parent"] == "before"
    again = api.task("POST", f"{CT}/120/snapshot", snapname="before")
    assert again == "snapshot name 'before' already used"
    assert api.task("DELETE", f"{CT}/120/snapshot/before") == "OK"
    assert api.task("POST", f"{CT}/120/status/start") == "OK"
    assert api.get(f"{CT}/120/status/current").data["status"] == "running"
    node.settled(120)
    assert api.task("POST", f"{CT}/120/status/reboot", timeout=20) == "OK"
    node.settled(120)
    assert api.task("POST", f"{CT}/120/status/shutdown", timeout=30, forceStop=1) == "OK"
    assert api.task("DELETE", f"{CT}/120", purge=1) == "OK"
    types = [row["type"] for row in api.get("/nodes/pve1/tasks", vmid=120).data]
    assert sorted(set(types)) == [
        *("resize", "vzcreate", "vzdelsnapshot", "vzdestroy", "vzreboot", "vzshutdown"),
        *("vzsnapshot", "vzstart"),
    ]
    assert not node.state.directory.joinpath("cluster/nodes/pve1/lxc/120.conf").exists()


def test_a_task_that_warns_ends_with_their_number(node: NodeShell, api: Api) -> None:
    node.good("pveum", "pool", "add", "gpus")
    try:
        ended = api.task("POST", CT, vmid=121, ostemplate=TEMPLATE, storage="local", pool="gpus")
        # Debian 12's systemd wants nesting and this one has none.
        assert ended == "WARNINGS: 1"
        rights = ("pveum", "acl", "modify", "/pool/gpus", "--users", "stoker@pve")
        node.good(*rights, "--roles", "StokerDeploy")
        row = next(
            row for row in api.get("/cluster/resources", type="vm").data if row["vmid"] == 121
        )
        assert (row["pool"], row["template"]) == ("gpus", 0)
        assert api.task("DELETE", f"{CT}/121") == "OK"
    finally:
        node.run("pveum", "pool", "delete", "gpus")


def test_a_slow_task_runs_until_it_has_ended(node: NodeShell, api: Api) -> None:
    node.write("/etc/stoker-sandbox/task-delay-s", "1.5\n")
    try:
        upid = api.post(f"{CT}/999/status/start").data
        told = api.get(f"/nodes/pve1/tasks/{upid}/status").data
        assert told["status"] == "running" and "exitstatus" not in told
        assert api.get(f"/nodes/pve1/tasks/{upid}/log").data == [{"n": 1, "t": "no content"}]
        assert api.ended(upid).startswith("Configuration file")
    finally:
        node.good("rm", "/etc/stoker-sandbox/task-delay-s")


def test_a_task_outlives_a_restart_of_the_server(node: NodeShell, api: Api) -> None:
    node.write("/etc/stoker-sandbox/task-delay-s", "1\n")
    try:
        upid = api.post(f"{CT}/999/status/start").data
        node.good("systemctl", "restart", "pveproxy")
        assert api.ended(upid).startswith("Configuration file")
    finally:
        node.good("rm", "/etc/stoker-sandbox/task-delay-s")


def test_reading_is_as_quick_as_the_real_one(node: NodeShell) -> None:
    secret = node.state.api_secret.read_text().strip()
    header = f"Authorization: {apis.token('stoker@pve!deploy', secret)}"
    url = f"https://localhost:8006/api2/json{CT}/200/config"
    spent = node.good(
        "python3",
        "-c",
        "import http.client, ssl, sys, time, base64\n"
        "name, value = base64.b64decode(sys.argv[1]).decode().split(': ')\n"
        "trust = ssl.create_default_context(cafile='/etc/pve/pve-root-ca.pem')\n"
        "trust.verify_flags &= ~ssl.VERIFY_X509_STRICT\n"
        "took = []\n"
        "for _ in range(12):\n"
        "    began = time.monotonic()\n"
        "    c = http.client.HTTPSConnection('localhost', 8006, context=trust)\n"
        f"    c.request('GET', {url.partition('8006')[2]!r}, headers={{name: value}})\n"
        "    assert c.getresponse().status == 200\n"
        "    took.append(time.monotonic() - began)\n"
        "print(sorted(took)[2])",
        base64.b64encode(header.encode()).decode(),
    )
    # 7.5 ms were measured with a new TLS connection each; this machine may be busy.
    assert float(spent) < 0.05


def test_without_quorum_reading_works_and_writing_does_not(node: NodeShell, api: Api) -> None:
    switches.turn_on(node.state, "quorum-lost")
    try:
        found = api.post(CT, vmid=130, ostemplate=TEMPLATE)
        assert (found.status, found.message) == (500, "cluster not ready - no quorum?")
        found = api.put(f"{CT}/106/config", memory=700)
        assert found.status == 500
        assert re.fullmatch(
            r"unable to open file '/etc/pve/nodes/pve1/lxc/106\.conf\.tmp\.\d+' - "
            r"Permission denied",
            found.message,
        )
        assert api.get(f"{CT}/106/config").data["memory"] == 512
        assert node.run("touch", "/etc/pve/lxc/x").code != 0
    finally:
        switches.heal(node.state)
    assert api.put(f"{CT}/106/config", memory=700).data is None


def test_an_older_proxmox_plugs_no_device_or_has_none(node: NodeShell, root: Api) -> None:
    try:
        switches.turn_on(node.state, "proxmox-8")
        assert root.put(f"{CT}/200/config", dev6="/dev/zero").data is None
        waiting = {row["key"]: row for row in root.get(f"{CT}/200/pending").data}["dev6"]
        assert waiting == {"key": "dev6", "pending": "/dev/zero"}
        assert root.get("/version").data["release"] == "8.4"
        assert root.put(f"{CT}/200/config", revert="dev6").data is None
        switches.turn_on(node.state, "proxmox-7")
        found = root.put(f"{CT}/200/config", dev6="/dev/zero")
        assert found.told["errors"]["dev6"].startswith("property is not defined in schema")
    finally:
        switches.heal(node.state)


def test_a_file_in_place_of_a_device_is_put_there_and_taken_away(node: NodeShell) -> None:
    def kind() -> str:
        words = ("stat", "-c", "%F %a", "/dev/nvidia-uvm")
        return node.good("pct", "exec", "200", "--", *words).strip()

    assert kind() == "character special file 666"
    switches.turn_on(node.state, "file-for-device")
    assert kind() == "regular empty file 0"
    switches.heal(node.state)
    assert kind() == "character special file 666"
