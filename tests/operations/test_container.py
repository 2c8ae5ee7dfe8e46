"""A container is made, adopted, changed and restarted; a run begins where the last one ended."""

import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyinfra.api import StringCommand
from pyinfra.context import ctx_host

from stoker.container.version import Version
from stoker.container.wanted import Wanted
from stoker.facts.servers import AskedServers
from stoker.facts.switch import Switch, SwitchState
from stoker.operations import container
from stoker.operations.container import awaiting, restarting
from stoker.operations.container import node as container_node
from stoker.operations.container.applying import apply
from stoker.operations.container.node import Way
from stoker.pct.errors import Busy, TimedOut
from stoker.proxmox.access import Access
from stoker.proxmox.errors import (
    AlreadyExists,
    AlreadySo,
    NodeOffline,
    Rejected,
    TaskFailed,
    TaskUnknown,
)
from tests.container.cards import FIRST, SECOND
from tests.operations.hosts import words
from tests.operations.node_double import ContainerHost, Ct, Killed, NodeDouble

NEW: dict[str, Any] = {
    "template": "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst",
    "storage": "local-zfs",
    "rootfs_gib": 64,
    "hostname": "gpu-a",
    "memory_mib": 8192,
    "features": {"nesting": True},
    "networks": [{"name": "eth0", "bridge": "vmbr0", "ip": "dhcp"}],
    "mounts": [{"source": "/tank/models", "target": "/models", "read_only": True}],
    "gpus": "all",
}
KEYCTL: dict[str, Any] = {"features": {"nesting": True, "keyctl": True}}
"""Needs a restart."""


@pytest.fixture(autouse=True)
def _node(monkeypatch: pytest.MonkeyPatch) -> None:
    """The node in memory is looked at, and is the backend; waiting takes no time."""

    def backend(access: Access, name: str, run: Any) -> Any:
        return run.__self__.host.connector.node

    monkeypatch.setattr(container_node.opening, "backend", backend)
    monkeypatch.setattr(Way, "look", lambda way: way.host.connector.node.look(None))
    for module in (awaiting, restarting):
        monkeypatch.setattr(module, "LOOK_S", 0)


def done(host: ContainerHost, **said: Any) -> bool:
    """Whether it succeeded in execution."""
    return apply(None, host, Wanted.of(said), Access())


def asked(host: ContainerHost, monkeypatch: pytest.MonkeyPatch, **said: Any) -> list[str]:
    """What the operation would do, asked before the execution or in it."""
    executing = said.pop("executing", False)
    monkeypatch.setattr(container, "state", SimpleNamespace(is_executing=executing))
    with ctx_host.use(host):  # type: ignore[arg-type]
        return words(container.present._inner(Wanted.of(said), Access()))


def made(**said: Any) -> NodeDouble:
    """A node whose container 200 was made so, and runs."""
    node = NodeDouble()
    assert done(ContainerHost(node), **(said or NEW))
    node.acts.clear()
    return node


def by_hand(**keys: str) -> NodeDouble:
    """A node with a container 200 that somebody made, and that runs."""
    told = {"hostname": "llm", "memory": "4096", "rootfs": "tank:subvol-200-disk-0,size=500G"}
    node = NodeDouble(ct200=Ct({**told, **keys}))
    node.running.add(200)
    return node


def test_a_container_that_is_not_there_is_made_and_started() -> None:
    node = NodeDouble()
    host = ContainerHost(node)
    assert done(host, **NEW)
    assert node.acts == ["create 200", "set 200 mp0", "start 200"]
    assert node.cts[200].keys["dev0"] == "/dev/nvidia0,mode=0666"
    assert node.cts[200].keys["mp0"] == "/tank/models,mp=/models,ro=1"
    assert "+ memory: 8192" in host.said
    assert host.said.count("+ mp0: /tank/models,mp=/models,ro=1  (at once)") == 1
    assert host.held == 1
    assert [line for line in host.done if "is-system-running" in line]


def test_a_second_run_looks_once_does_nothing_and_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = made()
    node.looks = 0
    host = ContainerHost(node)
    assert asked(host, monkeypatch, executing=True, **NEW) == []
    assert (node.looks, node.acts, host.said, host.held) == (1, [], [], 0)
    assert host.noops == ["CT 200 is as declared"]


def test_a_dry_run_shows_the_difference_and_touches_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = NodeDouble()
    host = ContainerHost(node)
    assert len(asked(host, monkeypatch, **NEW)) == 1
    assert host.said[0] == "CT 200 (gpu-a) is made:"
    assert "CT 200 would be started" in host.said
    assert (node.acts, host.held) == ([], 0)


def test_a_hand_made_change_is_shown_and_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    node = made()
    node.cts[200].keys["memory"] = "512"
    host = ContainerHost(node)
    asked(host, monkeypatch, **NEW)
    shown = ["CT 200 (gpu-a):", "- memory: 512", "+ memory: 8192  (plugged in while it runs)"]
    assert host.said == shown
    host.said.clear()
    assert done(host, **NEW)
    assert (node.acts, host.said) == (["set 200 memory"], shown)


@pytest.mark.parametrize("last", range(8))
def test_a_run_that_is_killed_anywhere_is_healed_by_the_next(last: int) -> None:
    said = {**NEW, **KEYCTL, "allow_restart": True, "snapshot": True}
    node = made()
    node.kill_before = last
    host = ContainerHost(node)
    try:
        done(host, **said)
    except Killed:
        node.kill_before = None
        assert done(ContainerHost(node), **said)
    assert 200 in node.running
    assert node.cts[200].keys["features"] == "nesting=1,keyctl=1"
    assert node.cts[200].keys["mp0"] == "/tank/models,mp=/models,ro=1"
    assert node.cts[200].pending == {}
    assert len(node.cts[200].snapshots) == 1


@pytest.mark.parametrize("acts", [0, 1, 2])
def test_a_killed_creation_is_gone_on_with(acts: int) -> None:
    node = NodeDouble()
    node.kill_before = acts
    with pytest.raises(Killed):
        done(ContainerHost(node), **NEW)
    node.kill_before = None
    assert done(ContainerHost(node), **NEW)
    assert node.acts == ["create 200", "set 200 mp0", "start 200"]


def test_a_protected_container_is_made_with_its_bind_mounts() -> None:
    node = NodeDouble()
    assert done(ContainerHost(node), **NEW, protection=True)
    assert node.acts == ["create 200", "set 200 mp0 protection", "start 200"]


def test_rights_on_a_pool_count_for_tags_when_the_container_is_in_it() -> None:
    node = NodeDouble()
    assert done(ContainerHost(node), **{**NEW, "mounts": []}, pool="llm", tags=["stoker"])
    assert node.acts == ["create 200", "set 200 tags", "start 200"]


def test_a_container_made_without_its_gpus_gets_them_before_its_first_start() -> None:
    node = NodeDouble()
    node.kill_before = 1
    with pytest.raises(Killed):
        done(ContainerHost(node), **NEW)
    node.kill_before = None
    for key in [key for key in node.cts[200].keys if key.startswith("dev")]:
        del node.cts[200].keys[key]
    assert done(ContainerHost(node), **NEW)
    assert node.acts[1:] == ["set 200 dev0 dev1 dev2 dev3 dev4 mp0", "start 200"]


def test_a_creation_that_is_under_way_is_awaited() -> None:
    node = NodeDouble(ct200=Ct({"lock": "create"}))
    node.at_work = 3
    assert done(ContainerHost(node), memory_mib=1024, started=False)
    assert node.acts == ["set 200 memory"]


def test_a_creation_that_ended_in_its_middle_is_refused_with_the_commands() -> None:
    host = ContainerHost(NodeDouble(ct200=Ct({"lock": "create"})))
    assert not done(host, **NEW)
    assert "pct unlock 200 && pct destroy 200, then run this again" in host.said[-1]


def test_a_snapshot_that_goes_on_without_its_run_is_awaited() -> None:
    node = made()
    node.running.clear()
    node.cts[200].keys["lock"] = "snapshot"
    node.at_work = 2
    assert done(ContainerHost(node), **NEW)
    assert node.acts == ["start 200"]
    node.running.clear()
    node.cts[200].keys["lock"] = "snapshot"
    host = ContainerHost(node)
    assert not done(host, **NEW)
    assert host.said[-1].endswith("nobody works on it: pct unlock 200, then run this again")
    node.cts[200].snapshots |= {"whole": {"snaptime": "1"}, "half": {"snapstate": "prepare"}}
    assert not done(host, **NEW)
    assert "pct unlock 200 && pct delsnapshot 200 half --force, then run" in host.said[-1]


def test_a_container_of_somebody_is_adopted_and_what_is_not_declared_stays() -> None:
    node = by_hand(cores="16", net0="name=eth0,bridge=vmbr1", tags="prod")
    host = ContainerHost(node)
    assert done(host, memory_mib=8192, tags=["stoker"], rootfs_gib=64)
    assert node.cts[200].keys == {
        "hostname": "llm",
        "memory": "8192",
        "rootfs": "tank:subvol-200-disk-0,size=500G",
        "cores": "16",
        "net0": "name=eth0,bridge=vmbr1",
        "tags": "prod;stoker",
    }
    told = [line for line in host.said if "never shrinks" in line]
    assert len(told) == 1
    assert node.acts == ["set 200 memory tags"]


def test_what_differs_and_stays_is_told_once_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    host = ContainerHost(by_hand())
    for executing in (False, True):
        assert asked(host, monkeypatch, executing=executing, rootfs_gib=64) == []
    assert len(host.said) == 1
    assert host.said[0].startswith("CT 200: rootfs_gib: the root file system has 500G")


def test_volumes_grow() -> None:
    node = by_hand()
    assert done(ContainerHost(node), rootfs_gib=600)
    assert node.acts == ["resize 200 rootfs 600G"]


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ({"elsewhere": {200: "pve2"}}, "it is on node pve2; set pct_host to that node"),
        ({"cts": {200: Ct({"template": "1"})}}, "it is a template, which never runs"),
        ({"cts": {200: Ct({"lock": "backup"})}}, "Proxmox has locked it (backup); wait"),
        ({"missing": ("/tank/models",)}, "/tank/models into CT 200: pve1 has no such directory"),
        ({"quorate": False}, "its cluster has no quorum, so nothing can be written; see pvecm"),
        ({"version": Version((4, 4, 5))}, "devN came with 5.0.7 (Proxmox VE 8.1)"),
        (
            {"cts": {105: Ct({"hostname": "vlm", "dev0": "/dev/nvidia1"})}},
            f"cannot pass /dev/nvidia1 ({SECOND.uuid}) to CT 200: CT 105 (vlm), which is stopped",
        ),
    ],
    ids=["elsewhere", "template", "locked", "no directory", "no quorum", "pve7", "claimed"],
)
def test_what_stands_in_the_way_is_one_sentence_and_nothing_is_done(
    there: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = NodeDouble()
    vars(node).update(there)
    host = ContainerHost(node)
    (command,) = asked(host, monkeypatch, **NEW)
    assert said in command
    assert command.startswith("_fail")
    assert host.said[0].startswith("as it is now: cannot ")
    assert not done(host, **NEW)
    assert (said in host.said[-1], node.acts) == (True, [])


def test_a_locked_container_that_needs_nothing_is_no_trouble(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = made()
    node.cts[200].keys["lock"] = "backup"
    assert asked(ContainerHost(node), monkeypatch, executing=True, **NEW) == []


def test_what_only_an_act_needs_is_no_trouble_where_nothing_is_to_be_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = made()
    node.quorate, node.missing = False, ("/tank/models",)
    assert asked(ContainerHost(node), monkeypatch, executing=True, **NEW) == []


def test_gpus_are_shared_where_both_are_meant_to() -> None:
    node = NodeDouble(ct105=Ct({"dev0": "/dev/nvidia0"}))
    assert done(ContainerHost(node), **{**NEW, "gpus": [FIRST.uuid], "gpus_shared": True})


def test_two_containers_that_were_made_for_the_same_gpu_do_not_start() -> None:
    node = NodeDouble()
    create = node.create

    def with_another(vmid: int, options: Any) -> Any:
        node.cts[201] = Ct({"hostname": "b", "dev0": "/dev/nvidia0"})
        return create(vmid, options)

    node.create = with_another  # type: ignore[method-assign]
    host = ContainerHost(node)
    assert not done(host, **NEW)
    assert "CT 201 (b), which is stopped, passes it too" in host.said[-1]
    assert node.running == set()


def test_a_stopped_container_is_started_and_left_stopped_where_that_is_said() -> None:
    node = made()
    node.running.clear()
    assert done(ContainerHost(node), **NEW, started=False)
    assert node.acts == []
    assert done(ContainerHost(node), **NEW)
    assert node.acts == ["start 200"]


def test_one_that_a_killed_run_stopped_is_started_by_the_next() -> None:
    node = made()
    said = {**NEW, **KEYCTL, "allow_restart": True, "started": False}
    node.kill_before = 2
    with pytest.raises(Killed):
        done(ContainerHost(node), **said)
    assert (node.acts, node.running) == (["set 200 features", "shutdown 200"], set())
    node.kill_before = None
    assert done(ContainerHost(node), **said)
    assert node.acts[2:] == ["start 200"]
    node.running.clear()
    assert done(ContainerHost(node), **said)
    assert node.acts[3:] == [], "who stops it afterwards has it stopped"


def test_one_that_somebody_started_after_a_killed_run_is_nothing_special_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = made()
    node.noted.add(200)
    host = ContainerHost(node)
    assert asked(host, monkeypatch, executing=True, **NEW)
    assert done(host, **NEW)
    assert (node.acts, node.noted) == ([], set())
    assert asked(host, monkeypatch, executing=True, **NEW) == []


def test_a_restart_that_cannot_be_noted_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    node = made()
    host = ContainerHost(node)
    run = node.run

    def full(command: Any, **words: Any) -> Any:
        if "mkdir" in str(command):
            return SimpleNamespace(code=1)
        return run(command, **words)

    monkeypatch.setattr(node, "run", full)
    assert not done(host, **{**NEW, **KEYCTL}, allow_restart=True)
    assert "cannot stop CT 200: /run/stoker/restarting on its node cannot be" in host.said[-1]
    assert 200 in node.running


def test_what_needs_a_restart_is_set_and_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    node = made()
    host = ContainerHost(node)
    assert done(host, **{**NEW, **KEYCTL})
    assert node.acts == ["set 200 features"]
    assert host.said[-1] == (
        "CT 200: waits for its next start: features; to have it restarted here: allow_restart: True"
    )
    later = ContainerHost(node)
    assert asked(later, monkeypatch, executing=True, **{**NEW, **KEYCTL}) == []
    assert later.said == host.said[-1:]


def test_an_allowed_restart_stops_the_servers_first() -> None:
    node = made()
    server = SimpleNamespace(alive=True)
    host = ContainerHost(node, facts={AskedServers: {"sglang@0.service": server}})
    assert done(host, **{**NEW, **KEYCTL}, allow_restart=True)
    assert node.acts == ["set 200 features", "shutdown 200", "start 200"]
    assert "systemctl stop --no-block sglang@0.service" in host.done
    assert node.cts[200].keys["features"] == "nesting=1,keyctl=1"


def test_a_container_whose_servers_cannot_be_asked_is_not_restarted() -> None:
    node = made()
    host = ContainerHost(node, facts={AskedServers: None})
    assert not done(host, **{**NEW, **KEYCTL}, allow_restart=True)
    assert host.said[-1].startswith("cannot restart CT 200: it did not say which servers it has")
    assert node.acts == ["set 200 features"]


def test_a_switch_that_a_run_left_open_is_undone_before_the_restart() -> None:
    node = made()
    switch = [SwitchState(open=True, units=("sglang@0.service",)), SwitchState()]
    host = ContainerHost(node, facts={Switch: switch})
    assert done(host, **{**NEW, **KEYCTL}, allow_restart=True)
    assert any(line.startswith("an earlier run ended while it switched") for line in host.said)
    assert node.acts[1:] == ["shutdown 200", "start 200"]


def test_a_gpu_that_waits_for_a_restart_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    node = by_hand()
    node.version = Version((5, 2, 0))
    host = ContainerHost(node)
    assert not done(host, gpus=[FIRST.uuid])
    assert node.acts == ["set 200 dev0 dev1 dev2 dev3"]
    assert host.said[-1].startswith(
        "cannot go on with CT 200: it gets /dev/nvidia0, /dev/nvidiactl, "
    )
    (command,) = asked(ContainerHost(node), monkeypatch, gpus=[FIRST.uuid])
    assert "at its next start, and its servers need that" in command
    assert done(ContainerHost(node), gpus=[FIRST.uuid], allow_restart=True)
    assert node.acts[1:] == ["shutdown 200", "start 200"]


def test_a_gpu_is_plugged_into_a_running_container_where_that_is_possible() -> None:
    node = by_hand()
    assert done(ContainerHost(node), gpus=[FIRST.uuid])
    assert node.cts[200].keys["dev0"] == "/dev/nvidia0,mode=0666"


def test_a_snapshot_comes_between_stop_and_change_without_bind_mounts() -> None:
    node = made()
    node.cts[200].keys["mp3"] = "/var/lib/stoker/wheels,mp=/var/lib/stoker/wheels,ro=1"
    assert done(ContainerHost(node), **{**NEW, **KEYCTL}, allow_restart=True, snapshot=True)
    assert node.acts == [
        "shutdown 200",
        "set 200 -mp0 -mp3",
        "snapshot 200",
        "set 200 mp0 mp3",
        "set 200 features",
        "start 200",
    ]
    (kept,) = node.cts[200].snapshots.values()
    assert kept["features"] == "nesting=1"


def test_a_bind_mount_of_which_a_part_is_not_declared_is_not_taken_out() -> None:
    """It would come back without that part, writable for instance, after a run that dies."""
    bare = [{"source": "/tank/models", "target": "/models"}]
    said = {**NEW, **KEYCTL, "mounts": bare, "allow_restart": True, "snapshot": True}
    node = made()
    host = ContainerHost(node)
    assert not done(host, **said)
    assert "mp0 (/tank/models,mp=/models,ro=1), which is not declared, or not" in host.said[-1]
    assert node.acts == []
    moved = {**NEW["mounts"][0], "source": "/tank/other"}
    assert done(ContainerHost(node), **{**said, "mounts": [moved]})
    assert node.acts[1:4] == ["set 200 -mp0", "snapshot 200", "set 200 mp0"]


def test_only_our_old_snapshots_go() -> None:
    node = made()
    old = {"stoker-20260101-000000": {}, "stoker-20260102-000000": {}, "mine": {}}
    node.cts[200].snapshots |= old  # type: ignore[arg-type]
    said = {**NEW, **KEYCTL, "allow_restart": True, "snapshot": True, "snapshots_kept": 2}
    assert done(ContainerHost(node), **said)
    left = list(node.cts[200].snapshots)
    assert left[:2] == ["stoker-20260102-000000", "mine"]
    assert len(left) == 3


@pytest.mark.parametrize("act", ["snapshot", "set"])
def test_what_fails_while_it_is_stopped_leaves_it_started_as_it_was(act: str) -> None:
    node = made(**{**NEW, "mounts": []})
    node.fail[act] = TaskFailed("cannot take snapshot: Proxmox says: out of space")
    host = ContainerHost(node)
    said = {**NEW, **KEYCTL, "mounts": [], "allow_restart": True, "snapshot": True}
    assert not done(host, **said)
    assert host.said[-1].endswith("out of space")
    assert 200 in node.running
    assert node.cts[200].keys["features"] == "nesting=1"
    assert node.cts[200].pending == {}


def test_bind_mounts_that_cannot_be_put_back_do_not_hide_why_there_is_no_snapshot() -> None:
    node = made()
    host = ContainerHost(node)
    node.fail["snapshot"] = TaskFailed("cannot take snapshot: Proxmox says: out of space")
    snapshot = node.snapshot

    def fails(*words: Any) -> Any:
        node.fail["set"] = Rejected("cannot set mp0: Proxmox says: no quorum")
        return snapshot(*words)

    node.snapshot = fails  # type: ignore[method-assign]
    assert not done(host, **{**NEW, **KEYCTL}, allow_restart=True, snapshot=True)
    assert host.said[-2:] == [
        "cannot take snapshot: Proxmox says: out of space",
        "and mp0 could not be put back: cannot set mp0: Proxmox says: no quorum",
    ]


def test_a_snapshot_that_cannot_be_is_refused_before_anything_is_stopped() -> None:
    said = {**NEW, **KEYCTL, "allow_restart": True, "snapshot": True}
    node = made()
    node.cts[200].keys["mp5"] = "/srv,mp=/srv"
    host = ContainerHost(node)
    assert not done(host, **said)
    assert "the bind mount mp5 (/srv,mp=/srv), which is not declared" in host.said[-1]
    del node.cts[200].keys["mp5"]
    node.cts[200].keys["protection"] = "1"
    assert not done(host, **said)
    assert "its protection keeps these in" in host.said[-1]
    del node.cts[200].keys["protection"]
    node.storages = "dir: local\n\tpath /var/lib/vz\n\nlvm: local-zfs\n\tvgname pve\n"
    assert not done(host, **said)
    assert "rootfs is on local-zfs, and storage of type lvm takes none" in host.said[-1]
    assert node.acts == []


def test_a_change_of_somebody_in_between_is_told() -> None:
    node = made()
    node.cts[200].keys["memory"] = "512"
    begin = node._begin

    def meanwhile(act: str) -> None:
        begin(act)
        node.cts[200].keys["cores"] = "2"

    node._begin = meanwhile  # type: ignore[method-assign]
    host = ContainerHost(node)
    assert not done(host, **NEW)
    assert host.said[-1] == "cannot change CT: somebody changed it"


def lost(node: NodeDouble, act: str, error: Exception) -> None:
    """This act is done, and its answer does not come, or is an error."""
    method = getattr(node, act)

    def ended(*given: Any, **named: Any) -> Any:
        method(*given, **named)
        raise error

    setattr(node, act, ended)


@pytest.mark.parametrize(
    ("act", "error"),
    [
        ("set", Rejected("cannot change CT 200: the node has no /dev/nvidia7")),
        ("set", TaskUnknown("cannot change CT 200 for certain: the connection ended")),
        ("create", TaskUnknown("cannot create CT 200 for certain: the connection ended")),
        ("start", NodeOffline("cannot start CT 200: cannot reach that node (596)")),
    ],
)
def test_what_is_done_all_the_same_is_told_and_gone_on_from(act: str, error: Exception) -> None:
    node = NodeDouble()
    lost(node, act, error)
    host = ContainerHost(node)
    assert done(host, **NEW)
    assert node.acts == ["create 200", "set 200 mp0", "start 200"]
    assert host.said.count(f"{error}. Looked again: it is done") == 1


def test_a_creation_that_goes_on_without_us_is_not_called_done() -> None:
    node = NodeDouble()
    create = node.create

    def lasting(vmid: int, options: Any) -> Any:
        create(vmid, options)
        node.cts[vmid].keys["lock"] = "create"
        node.at_work = 2
        raise TaskUnknown("cannot create CT 200 for certain: it took too long")

    node.create = lasting  # type: ignore[method-assign]
    host = ContainerHost(node)
    assert done(host, **NEW)
    assert (
        host.said.count(
            "cannot create CT 200 for certain: it took too long. Looked again: it is under way"
        )
        == 1
    )


def test_half_of_a_change_is_not_called_the_whole() -> None:
    node = made()
    node.cts[200].keys |= {"memory": "512", "cores": "2"}
    change = node.set

    def half(vmid: int, options: Any, *more: Any) -> Any:
        change(vmid, {key: options[key] for key in options if key == "memory"})
        raise Rejected("cannot change CT 200: no")

    node.set = half  # type: ignore[method-assign]
    host = ContainerHost(node)
    assert not done(host, **{**NEW, "cores": 4})
    assert "cannot change CT 200: no. Looked again: some of it is done" in host.said


@pytest.mark.parametrize("act", ["set", "create", "start"])
def test_what_is_not_done_ends_the_run_with_its_error(act: str) -> None:
    node = NodeDouble()
    node.fail[act] = TaskUnknown("cannot do it for certain: the connection ended")
    host = ContainerHost(node)
    assert not done(host, **NEW)
    assert host.said[-1] == "cannot do it for certain: the connection ended"


def test_a_container_that_somebody_made_meanwhile_is_not_taken_for_ours() -> None:
    node = NodeDouble()
    lost(node, "create", AlreadyExists("cannot create CT 200: CT 200 already exists"))
    host = ContainerHost(node)
    assert not done(host, **NEW)
    assert node.acts == ["create 200"]


def test_a_volume_that_has_its_size_already_is_told_and_gone_on_from() -> None:
    node = by_hand()
    node.running.clear()
    node.fail["resize"] = AlreadySo("cannot grow: disk is already at specified size")
    host = ContainerHost(node)
    assert done(host, rootfs_gib=600)
    assert node.acts == ["start 200"]
    assert [line for line in host.said if "pct rescan --vmid 200 corrects that" in line]


def test_a_value_that_reads_otherwise_than_it_was_set_ends_the_run() -> None:
    node = by_hand()
    node.set = lambda *_, **__: ()  # type: ignore[method-assign]
    host = ContainerHost(node)
    assert not done(host, memory_mib=8192)
    assert "memory reads as before after it was set" in host.said[-1]


def test_what_a_restart_does_not_bring_is_no_reason_for_a_second_one() -> None:
    node = made()
    node.cts[200].settle = lambda: None  # type: ignore[method-assign]
    host = ContainerHost(node)
    assert not done(host, **{**NEW, **KEYCTL}, allow_restart=True)
    assert node.acts == ["set 200 features", "shutdown 200", "start 200"]
    assert "features reads as before after it was set" in host.said[-1]


def test_a_container_that_ends_right_after_its_start_is_started_once() -> None:
    node = made()
    node.running.clear()
    start = node.start

    def and_ends(vmid: int) -> tuple[str, ...]:
        started = start(vmid)
        node.look_hook = node.running.clear
        return started

    node.start = and_ends  # type: ignore[method-assign]
    host = ContainerHost(node)
    assert not done(host, **NEW)
    assert node.acts == ["start 200"]
    assert host.said[-1].startswith("cannot keep CT 200 running: it ended right after its start")


def test_another_run_on_the_same_container_is_named() -> None:
    node = NodeDouble()
    host = ContainerHost(node)

    def held() -> None:
        raise Busy("cannot change CT 200 of pve1: busy, ann@desk works on it since noon")

    host.connector.hold = held
    assert not done(host, **NEW)
    assert host.said == ["cannot change CT 200 of pve1: busy, ann@desk works on it since noon"]
    assert node.looks == 0


RAW = [
    "lxc.cgroup2.devices.allow: c 195:* rwm",
    "lxc.cgroup2.devices.allow: c 509:* rwm",
    "lxc.mount.entry: /dev/nvidia0 dev/nvidia0 none bind,optional,create=file",
    "lxc.mount.entry: /dev/nvidia-uvm dev/nvidia-uvm none bind,optional,create=file",
]


def test_stale_raw_lines_are_refused_with_the_way_out() -> None:
    node = by_hand()
    node.cts[200].raw = list(RAW)
    host = ContainerHost(node)
    assert not done(host, gpus=[FIRST.uuid])
    assert "cannot pass the GPUs to CT 200: its raw lines do not let it use" in host.said[-1]
    assert "migrate_raw: True" in host.said[-1]


def test_raw_lines_are_migrated_while_it_is_stopped() -> None:
    node = by_hand()
    node.cts[200].raw = list(RAW)
    host = ContainerHost(node)
    assert not done(host, gpus=[FIRST.uuid], migrate_raw=True)
    assert "/dev/nvidia-uvm when its raw GPU lines are replaced" in host.said[-1]
    assert "or stop it and run this again: pct shutdown 200" in host.said[-1]
    assert "its raw GPU lines are replaced only while it is stopped" in host.said[-2]
    assert done(host, gpus=[FIRST.uuid], migrate_raw=True, allow_restart=True)
    assert node.acts == ["shutdown 200", "rewrite 200", "start 200"]
    assert node.cts[200].raw == []
    assert node.cts[200].keys["dev0"] == "/dev/nvidia0,mode=0666"
    assert "- lxc.cgroup2.devices.allow: c 509:* rwm" in host.said


def test_raw_lines_that_fit_stay_and_are_told() -> None:
    node = by_hand()
    node.cts[200].raw = [RAW[0], *RAW[2:3]]
    host = ContainerHost(node)
    assert done(host, gpus=[FIRST.uuid])
    assert node.acts == ["set 200 dev0 dev1 dev2"]
    assert "CT 200: raw lines pass /dev/nvidia0, with numbers that" in host.said[-1]


def test_a_start_that_fails_after_a_failure_hides_it_not() -> None:
    node = made()
    node.running.clear()
    node.fail["start"] = TaskFailed("cannot start CT 200: no")
    host = ContainerHost(node)
    restarting.start_again(host, node)
    assert host.said[-1] == ("CT 200 was stopped and does not start again: cannot start CT 200: no")


def test_a_container_that_answers_nothing_is_neither_running_nor_stopped() -> None:
    asked: list[float | None] = []

    def run(command: Any, vmid: int, timeout: float | None = None) -> Any:
        asked.append(timeout)
        raise TimedOut("it took too long")

    host = SimpleNamespace(connector=SimpleNamespace(node=SimpleNamespace(run=run)))
    assert restarting._runs(host, 200) is None
    assert asked == [restarting.ANSWER_S]


def test_a_container_without_systemd_is_not_waited_for(tmp_path: Path) -> None:
    node = made()
    node.running.clear()
    host = ContainerHost(node)
    (tmp_path / "sh").symlink_to("/bin/sh")

    def run(command: StringCommand, **_: Any) -> tuple[bool, Any]:
        host.done.append("asked")
        words = shlex.split(command.get_raw_value())
        ran = subprocess.run(
            words, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
        )
        return ran.returncode == 0, SimpleNamespace(stdout=ran.stdout, stderr=ran.stderr)

    host.run_shell_command = run  # type: ignore[method-assign]
    restarting.start(host, node)
    assert (host.done, host.said) == (["asked"], ["starting CT 200"])


def test_a_host_without_a_node_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    host = ContainerHost(NodeDouble())
    host.connector = SimpleNamespace()
    (command,) = asked(host, monkeypatch, **NEW)
    assert "it is not reached through its node; name it @pct/NODE/VMID" in command
