"""A real instance of two nodes with no container of ours: what a deploy finds before it begins."""

import os
from collections.abc import Iterator

import pytest

from stoker.sandbox import account, gpu, inventory, lifecycle, lxc_node, report
from stoker.sandbox import state as states
from stoker.sandbox.lifecycle import Size
from stoker.sandbox.state import State
from tests.sandbox import api as apis
from tests.sandbox.api import Api
from tests.sandbox.site import pct_costs_nothing

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox needs root"),
]
NAME = "test-bare"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[State]:
    _gone()
    try:
        made = lifecycle.up(NAME, Size(nodes=2, gpus=2, neighbours=1, bare=True))
        pct_costs_nothing(NAME)
        yield made
    finally:
        _gone()


def _gone() -> None:
    if states.exists(NAME):
        lifecycle.down(NAME)


@pytest.fixture
def root(sandbox: State) -> Api:
    return apis.logged_in(apis.of(sandbox), "root@pam", sandbox.root_password.read_text().strip())


def on_node(state: State, *words: str) -> str:
    return lxc_node.attach(state, state.nodes[0], list(words))


def test_ours_are_planned_and_only_the_neighbour_is_there(sandbox: State, root: Api) -> None:
    rows = root.get("/cluster/resources", type="vm").data
    assert [(row["vmid"], row["tags"], row["status"]) for row in rows] == [
        (250, "neighbour", "running")
    ]
    assert [one.vmid for one in sandbox.containers] == [200, 300]
    assert "CT 200  198." in report.summary(sandbox) and "planned" in report.summary(sandbox)


def test_up_again_creates_none_either(sandbox: State, root: Api) -> None:
    lifecycle.up(NAME, lifecycle.size_of(states.load(NAME)))
    assert [row["vmid"] for row in root.get("/cluster/resources", type="vm").data] == [250]


def test_the_node_has_what_a_real_one_has_before_the_first_container(sandbox: State) -> None:
    listed = on_node(sandbox, "sh", "-c", "ls /usr/lib/x86_64-linux-gnu /models/sandbox-tiny")
    for name in (
        *(f"libcuda.so.{gpu.DRIVER_VERSION}", f"libnvidia-ml.so.{gpu.DRIVER_VERSION}"),
        *("libcuda.so.1", "libnvidia-ml.so.1", "config.json", "model.safetensors"),
    ):
        assert name in listed.split()
    assert "libnvidia-ml.so.1 (libc6" in on_node(sandbox, "ldconfig", "-p")
    assert on_node(sandbox, "nvidia-smi", "-L").count("UUID: GPU-") == 2
    template = inventory.wanted(sandbox, sandbox.containers[0])["template"].partition("/")[2]
    assert template in on_node(sandbox, "ls", "/var/lib/vz/template/cache").split()


def test_the_secrets_are_their_owners_alone(sandbox: State) -> None:
    for path in (sandbox.api_secret, sandbox.root_password, sandbox.ssh_key):
        assert path.stat().st_mode & 0o777 == 0o600
    assert sandbox.ca_file.stat().st_mode & 0o777 == 0o644
    modes = on_node(sandbox, "sh", "-c", "stat -Lc %a /etc/pve/priv/*.cfg /etc/pve/priv/*.key")
    assert set(modes.split()) == {"600"}


def test_a_container_of_the_inventory_is_made_and_reads_its_model(
    sandbox: State, root: Api
) -> None:
    wanted = inventory.wanted(sandbox, sandbox.containers[0])
    net = wanted["networks"][0]
    options = {
        "vmid": 200,
        "ostemplate": wanted["template"],
        "rootfs": f"{wanted['storage']}:{wanted['rootfs_gib']}",
        "features": "nesting=1",
        "net0": f"name=eth0,bridge=vmbr0,ip={net['ip']},gw={net['gateway']}",
        "tags": "stoker",
    }
    token = apis.of(sandbox)
    assert token.task("POST", "/nodes/pve1/lxc", **options) == "OK"
    refused = token.put("/nodes/pve1/lxc/200/config", mp0="/models,mp=/models,ro=1")
    assert refused.status == 403
    assert root.put("/nodes/pve1/lxc/200/config", mp0="/models,mp=/models,ro=1").data is None
    assert token.task("POST", "/nodes/pve1/lxc/200/status/start") == "OK"
    inside = ("pct", "exec", "200", "--")
    # As a user who is nobody in particular, as the service's is.
    words = ("setpriv", "--reuid=4242", "--clear-groups", "cat", "/models/sandbox-tiny/config.json")
    assert "LlamaForCausalLM" in on_node(sandbox, *inside, *words)
    written = "touch /models/x 2>&1; true"
    assert "Read-only file system" in on_node(sandbox, *inside, "sh", "-c", written)
    assert token.task("POST", "/nodes/pve1/lxc/200/status/stop") == "OK"
    assert token.task("DELETE", "/nodes/pve1/lxc/200") == "OK"


def test_either_node_answers_for_both(sandbox: State, root: Api) -> None:
    other = Api(sandbox.nodes[1].address, 8006, str(sandbox.ca_file), root.headers)
    for api, local in ((root, "pve1"), (other, "pve2")):
        rows = {row["name"]: row for row in api.get("/cluster/status").data}
        assert rows[NAME]["quorate"] == 1
        assert [name for name, row in rows.items() if row.get("local")] == [local]
        assert rows["pve2"]["ip"] == sandbox.nodes[1].address
        assert api.get("/nodes/pve2/status").data["pveversion"]
        assert [row["vmid"] for row in api.get("/nodes/pve1/lxc").data] == [250]
    made = {"vmid": 300, "ostemplate": "local:vztmpl/nosuch.tar.zst"}
    upid = root.post("/nodes/pve2/lxc", **made).data
    assert upid.startswith("UPID:pve2:")
    assert "does not exist" in root.ended(upid, "pve2")


def test_the_documented_role_is_the_tokens(sandbox: State) -> None:
    held = apis.of(sandbox).get("/access/permissions", path="/vms/200").data["/vms/200"]
    assert set(held) == account.PRIVILEGES


def test_a_node_that_is_down_is_595_and_offline(sandbox: State, root: Api) -> None:
    lxc_node.stop(sandbox, sandbox.nodes[1])
    found = root.get("/nodes/pve2/lxc")
    assert found.status == 595
    states_of = {row["node"]: row["status"] for row in root.get("/nodes").data}
    assert states_of == {"pve1": "online", "pve2": "offline"}
