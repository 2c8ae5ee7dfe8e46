"""The role in docs/proxmox.md is enough, and nothing in it is too much."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from fakepve.shapes import PRIVILEGES

from stoker.proxmox.api import Session
from stoker.proxmox.by_api import ByApi
from stoker.proxmox.errors import Forbidden
from tests.proxmox.conftest import TEMPLATE

PAGE = (Path(__file__).parents[2] / "docs" / "proxmox.md").read_text()
_ROLE = re.search(r'role add StokerDeploy --privs "([^"]+)"', PAGE)
ROLE = _ROLE[1].split() if _ROLE else []
STORAGES = "/storage/local", "/storage/local-lvm"
BRIDGE = "/sdn/zones/localnetwork/vmbr0"

Act = Callable[[ByApi], object]


def new(**more: str) -> Act:
    asked = {"ostemplate": TEMPLATE, "rootfs": "local-lvm:8", **more}
    return lambda api: api.create(201, asked)


CALLS: dict[str, list[Act]] = {
    "VM.Allocate": [new()],
    "VM.Audit": [
        lambda api: api.session.get("nodes/pve1/lxc/200/config"),
        lambda api: api.session.get("nodes/pve1/lxc/200/status/current"),
    ],
    "VM.Config.CPU": [lambda api: api.set(200, {"cores": "2"}), new(cores="2")],
    "VM.Config.Disk": [
        new(),
        lambda api: api.set(200, {"mp0": "local-lvm:4,mp=/data"}),
        lambda api: api.resize(200, "rootfs", "9G"),
    ],
    "VM.Config.Memory": [
        lambda api: api.set(200, {"memory": "1024"}),
        lambda api: api.set(200, {"swap": "0"}),
    ],
    "VM.Config.Network": [
        lambda api: api.set(200, {"hostname": "gpu-a", "nameserver": "192.0.2.1"}),
        lambda api: api.set(200, {"net0": "name=eth0,bridge=vmbr0,ip=dhcp"}),
    ],
    "VM.Config.Options": [
        lambda api: api.set(200, {"tags": "stoker"}),
        lambda api: api.set(200, {"onboot": "1", "startup": "order=2", "description": "x"}),
        lambda api: api.resize(200, "rootfs", "9G"),
    ],
    "VM.PowerMgmt": [
        lambda api: api.start(200),
        lambda api: api.shutdown(202, 60, True),
    ],
    "VM.Snapshot": [
        lambda api: api.snapshot(200, "two", ""),
        lambda api: api.delete_snapshot(200, "one"),
    ],
    "Datastore.AllocateSpace": [new(), lambda api: api.resize(200, "rootfs", "9G")],
    "SDN.Use": [new(net0="name=eth0,bridge=vmbr0,ip=dhcp")],
}
CASES = [(privilege, act) for privilege, acts in CALLS.items() for act in acts]


def give(fakepve: Any, role: Iterable[str]) -> None:
    """The role as the page's commands give it, and a node with containers."""
    fakepve.add_ct(200).snapshots["one"] = {}
    fakepve.add_ct(202, status="running")
    for path in ("/vms", *STORAGES, BRIDGE):
        fakepve.grant("stoker@pve", path, *role)


def test_the_page_has_a_row_for_each_privilege_and_a_call_needs_it() -> None:
    rows = re.findall(r"^\| `((?:VM|Datastore|SDN)\.[\w.]+)` \|", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(ROLE) == sorted(CALLS)
    assert set(ROLE) <= set(PRIVILEGES)


@pytest.mark.parametrize(("privilege", "act"), CASES)
def test_with_the_role_every_call_works(fakepve: Any, api: ByApi, privilege: str, act: Act) -> None:
    give(fakepve, ROLE)
    act(api)


@pytest.mark.parametrize(("privilege", "act"), CASES)
def test_without_one_of_it_the_call_that_needs_it_names_it(
    fakepve: Any, api: ByApi, privilege: str, act: Act
) -> None:
    give(fakepve, set(ROLE) - {privilege})
    with pytest.raises(Forbidden, match=re.escape(privilege)):
        act(api)


def test_it_creates_no_privileged_container(fakepve: Any, api: ByApi) -> None:
    give(fakepve, ROLE)
    with pytest.raises(Forbidden, match=re.escape("/, Sys.Modify")):
        new(unprivileged="0")(api)


def test_the_pool_may_stand_for_all_containers(fakepve: Any, api: ByApi) -> None:
    fakepve.pools["gpu"] = set()
    for path in ("/pool/gpu", *STORAGES, BRIDGE):
        fakepve.grant("stoker@pve", path, *ROLE)
    api.create(201, {"ostemplate": TEMPLATE, "rootfs": "local-lvm:8", "pool": "gpu"})
    api.set(201, {"cores": "2"})
    api.start(201)


def test_its_own_tasks_may_be_seen_without_more(fakepve: Any, session: Session) -> None:
    give(fakepve, ROLE)
    upid = session.post("nodes/pve1/lxc/200/status/start")
    assert session.task(upid) == ()
    assert session.get(f"nodes/pve1/tasks/{upid}/log")
