"""A node's containers through the API, against fakepve."""

import subprocess
import sys
from typing import Any

import pytest

from stoker.proxmox.access import Access
from stoker.proxmox.api import Session
from stoker.proxmox.by_api import ByApi
from stoker.proxmox.errors import Locked
from stoker.proxmox.opening import backend
from stoker.proxmox.pct import Pct
from tests.proxmox.conftest import TEMPLATE, Clock, Ended, Shell

ROOTFS = {"ostemplate": TEMPLATE, "rootfs": "local-lvm:8"}


def test_a_life_of_a_container(fakepve: Any, api: ByApi, session: Session, shell: Shell) -> None:
    api.create(200, {**ROOTFS, "hostname": "gpu-a", "tags": "stoker", "features": "nesting=1"})
    ct = fakepve.ct(200)
    assert (ct.status, ct.config["hostname"], ct.config["tags"]) == ("stopped", "gpu-a", "stoker")
    digest = session.get("nodes/pve1/lxc/200/config")["digest"]
    api.set(200, {"cores": "3", "description": "a, b = c & d\nü"}, ["tags"], digest)
    assert ct.config["cores"] == 3
    assert ct.config["description"] == "a, b = c & d\nü"
    assert "tags" not in ct.config
    api.resize(200, "rootfs", "9G")
    assert ct.config["rootfs"].endswith("size=9G")
    api.snapshot(200, "before", "before the change")
    assert ct.snapshots["before"]["description"] == "before the change"
    api.delete_snapshot(200, "before")
    assert ct.snapshots == {}
    api.start(200)
    assert ct.status == "running"
    api.shutdown(200, 60, True)
    assert ct.status == "stopped"
    assert shell.ran == []


def test_what_is_so_already_is_fine(fakepve: Any, api: ByApi) -> None:
    fakepve.add_ct(200)
    api.shutdown(200, 60, False)
    api.start(200)
    api.start(200)
    assert fakepve.ct(200).status == "running"


def test_what_only_root_may_follows_by_pct(fakepve: Any, api: ByApi, shell: Shell) -> None:
    fakepve.grant("nobody@pve", "/", "VM.Audit")
    privileges = "VM.Allocate", "VM.Config.Disk", "Datastore.AllocateSpace", "VM.Config.CPU"
    fakepve.grant("stoker@pve", "/", *privileges)
    wanted = {
        "dev0": "/dev/nvidia0,mode=0666",
        "mp0": "/tank/models,mp=/models,ro=1",
        "mp1": "local-lvm:4,mp=/data",
        "features": "keyctl=1,nesting=1",
        "hookscript": "local:snippets/h.sh",
    }
    api.create(200, {**ROOTFS, **wanted})
    options = [f"--{key}={value}" for key, value in wanted.items() if key != "mp1"]
    assert shell.ran == [["env", "LC_ALL=C", "pct", "set", "200", *options]]
    assert fakepve.ct(200).config["mp1"].startswith("local-lvm:vm-200-disk-1,mp=/data")
    shell.ran.clear()
    api.set(200, {"cores": "2", "dev1": "/dev/nvidia1"}, ["dev0", "mp1"])
    assert shell.ran == [
        ["env", "LC_ALL=C", "pct", "set", "200", "--dev1=/dev/nvidia1", "--delete=dev0"]
    ]
    assert fakepve.ct(200).config["cores"] == 2


def test_the_digest_guards_what_comes_first(fakepve: Any, api: ByApi, shell: Shell) -> None:
    fakepve.add_ct(200)
    api.set(200, {"dev0": "/dev/nvidia0"}, (), "abc")
    assert shell.ran[0][-1] == "--digest=abc"
    api.set(200, {"dev0": "/dev/nvidia0", "cores": "2"}, (), fakepve.ct(200).digest())
    assert shell.ran[1][-1] == "--dev0=/dev/nvidia0"


def test_what_is_taken_back_is_taken_back_by_who_may(
    fakepve: Any, api: ByApi, shell: Shell
) -> None:
    fakepve.grant("stoker@pve", "/", "VM.Config.Memory")
    ct = fakepve.add_ct(200, pending={"memory": 1024, "dev0": "/dev/nvidia0"})
    api.set(200, {}, (), ct.digest(), ["memory", "dev0"])
    assert ct.pending == {"dev0": "/dev/nvidia0"}
    assert shell.ran == [["env", "LC_ALL=C", "pct", "set", "200", "--revert=dev0"]]


def test_a_change_of_nothing_asks_nobody(fakepve: Any, api: ByApi, shell: Shell) -> None:
    api.set(200, {})
    assert (fakepve.requests, shell.ran) == ([], [])


def test_a_ticket_of_root_needs_no_pct(
    fakepve: Any, ticket_data: dict[str, Any], shell: Shell
) -> None:
    fakepve.add_ct(200)
    way = backend(Access.of(ticket_data), "pve1", shell)
    way.set(200, {"dev0": "/dev/nvidia0"})
    assert (way.name, way.is_root) == ("ticket", True)
    assert fakepve.ct(200).config["dev0"] == "/dev/nvidia0"
    assert shell.ran == []


def test_a_run_has_one_session_for_all_hosts(fakepve: Any, data: dict[str, Any]) -> None:
    one, other = (backend(Access.of(data), node, Shell()) for node in ("pve1", "pve2"))
    assert isinstance(one, ByApi) and isinstance(other, ByApi)
    assert one.session is other.session


def test_ssh_waits_for_nothing_of_https() -> None:
    program = "import sys, stoker.proxmox.opening; print('requests' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.strip() == "False"


def test_what_root_could_not_do_says_what_was_done(fakepve: Any, api: ByApi, shell: Shell) -> None:
    shell.answers["set"] = Ended(255, b"", b"CT is locked (backup)\n")
    with pytest.raises(Locked, match="what needs no root was done before that"):
        api.create(200, {**ROOTFS, "dev0": "/dev/nvidia9"})
    assert "lock" not in fakepve.ct(200).config
    with pytest.raises(Locked, match="nothing was changed"):
        api.set(200, {"dev0": "/dev/nvidia9"})


def test_ssh_is_pct_alone(shell: Shell) -> None:
    way = backend(Access.of({}), "pve1", shell)
    assert isinstance(way, Pct)
    assert (way.name, way.is_root) == ("ssh", True)


@pytest.mark.parametrize("state", ["started", "stopped"])
def test_what_the_ha_manager_has_is_awaited(
    fakepve: Any, api: ByApi, state: str, clock: Clock
) -> None:
    ct = fakepve.add_ct(200, status="stopped" if state == "started" else "running")
    ct.ha_state = "stopped" if state == "started" else "started"
    api.start(200) if state == "started" else api.shutdown(200, 60, False)
    assert ct.ha_state == state
    assert ("GET", "/api2/json/nodes/pve1/lxc/200/status/current", b"") in fakepve.requests


def test_protection_does_not_keep_out_what_is_set_with_it(
    fakepve: Any, api: ByApi, shell: Shell
) -> None:
    fakepve.add_ct(200)
    api.set(200, {"memory": "1024", "protection": "1", "mp0": "/tank,mp=/tank"})
    assert shell.ran[-1][3:] == ["set", "200", "--mp0=/tank,mp=/tank", "--protection=1"]
    assert "protection" not in fakepve.ct(200).config
