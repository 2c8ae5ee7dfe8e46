from collections.abc import Mapping

import pytest

from stoker.health import conf, passthrough

ALL = tuple(range(8))
MAJORS = {"nvidia": 195, "nvidiactl": 195, "nvidia-uvm": 511}
NODES = {
    **{f"/dev/nvidia{minor}": (195, minor) for minor in ALL},
    "/dev/nvidiactl": (195, 255),
    "/dev/nvidia-uvm": (511, 0),
}
BY_DEVICE = """\
#a description: dev7: /dev/nvidia7
arch: amd64
dev0: /dev/nvidia0,mode=0666
dev1: path=/dev/nvidia3,gid=44,mode=0660,uid=1000
dev10: /dev/nvidia-uvm,mode=0666
dev2: /dev/nvidiactl,mode=0666,deny-write=0
hostname: infer
unprivileged: 1

[pve:pending]
dev3: /dev/nvidia4

[before]
dev4: /dev/nvidia5
lxc.cgroup2.devices.allow: a
"""
RAW = """\
hostname: infer
lxc.cgroup2.devices.allow: c 195:* rwm
lxc.cgroup2.devices.allow = c 511:* rwm
lxc.mount.entry: /dev/nvidia0 dev/nvidia0 none bind,optional,create=file
lxc.mount.entry: /dev/nvidia1 dev/nvidia1 none bind,create=file 0 0
lxc.mount.entry: /dev/nvidiactl dev/nvidiactl none bind,optional,create=file
lxc.mount.entry: /dev/nvidia-uvm dev/nvidia-uvm none bind,optional,create=file
lxc.mount.entry: /srv/models srv/models none bind,create=dir
unprivileged: 1
"""


def minors(text: str) -> list[int]:
    return passthrough.parse(text).gpu_minors(ALL)


def told(
    text: str,
    nodes: Mapping[str, tuple[int, int]] = NODES,
    others: Mapping[int, tuple[int, ...]] | None = None,
) -> tuple[str, ...]:
    return passthrough.problems(passthrough.parse(text), nodes, ALL, MAJORS, others or {})


@pytest.mark.scenario("T1")
def test_devices_are_read_with_their_modes_and_owners() -> None:
    assert passthrough.parse(BY_DEVICE).devices == (
        passthrough.Device("/dev/nvidia0", 0o666, None, None, False, "dev0"),
        passthrough.Device("/dev/nvidia3", 0o660, 1000, 44, False, "dev1"),
        passthrough.Device("/dev/nvidiactl", 0o666, None, None, False, "dev2"),
        passthrough.Device("/dev/nvidia-uvm", 0o666, None, None, False, "dev10"),
    )


def test_what_is_pending_or_in_a_snapshot_does_not_count() -> None:
    passed = passthrough.parse(BY_DEVICE)
    assert (minors(BY_DEVICE), passed.raw, passed.unprivileged) == ([0, 3], False, True)
    assert conf.live("[before]\nunprivileged: 1\n").keys == {}


def test_a_sound_container_has_no_problem() -> None:
    assert told(BY_DEVICE) == ()
    assert told(RAW) == ()
    assert told("hostname: web\n") == ()


@pytest.mark.scenario("T2")
def test_raw_lines_pass_what_they_mount_and_allow() -> None:
    passed = passthrough.parse(RAW)
    assert passed.raw
    assert [(mount.path, mount.optional) for mount in passed.raw_mounts][:2] == [
        ("/dev/nvidia0", True),
        ("/dev/nvidia1", False),
    ]
    assert "/srv/models" not in passed.paths
    assert minors(RAW) == [0, 1]


@pytest.mark.scenario("T3")
def test_both_styles_add_up_and_one_node_by_both_is_told() -> None:
    text = RAW + "dev0: /dev/nvidia1,mode=0666\ndev1: /dev/nvidia5,mode=0666\n"
    assert minors(text) == [0, 1, 5]
    assert told(text) == ("dev0: /dev/nvidia1 is mounted by a raw line too; keep one of the two",)


def test_a_mount_that_the_cgroup_denies_is_no_passthrough() -> None:
    text = RAW.replace("c 195:* rwm", "c 195:0 rwm") + "lxc.cgroup2.devices.allow: c 195:255 rw\n"
    assert minors(text) == [0]
    assert told(text) == (
        "lxc.mount.entry: /dev/nvidia1 (195:1) is mounted, but no lxc.cgroup2.devices.allow lets "
        "the container use it; pass it by devN",
    )
    assert minors(RAW + "lxc.cgroup2.devices.deny: c 195:1 rwm\n") == [0]
    assert minors(RAW.replace("195:* rwm", "195:* r")) == []


def test_a_rule_for_everything_allows_everything() -> None:
    for rule in ("a", "a *:* rwm", "c *:* rwm"):
        assert minors(f"lxc.cgroup2.devices.allow: {rule}\n") == list(ALL)
    assert minors("lxc.cgroup2.devices.allow: b *:* rwm\n") == []


@pytest.mark.scenario("T4")
def test_a_stale_major_is_told_with_both_numbers() -> None:
    assert told(RAW.replace("511", "509")) == (
        "lxc.cgroup2.devices.allow: /dev/nvidia-uvm has major 511 now and the line says 509; pass "
        "it by devN, which takes the number of the day",
    )


@pytest.mark.scenario("T5")
def test_an_optional_missing_node_is_told_and_a_needed_one_too() -> None:
    gone = {path: numbers for path, numbers in NODES.items() if path != "/dev/nvidia0"}
    assert told(RAW, gone) == (
        "lxc.mount.entry: /dev/nvidia0 is no device node of the node and optional, so the "
        "container starts without it; load the driver before it starts",
    )
    assert told(BY_DEVICE, gone) == (
        "dev0: /dev/nvidia0 is no device node of the node, so the container does not start; load "
        "the driver or take the line out",
    )


@pytest.mark.scenario("T6")
def test_a_gpu_of_two_containers_is_told_with_the_other() -> None:
    assert told(BY_DEVICE, others={201: (1, 3), 202: (7,)}) == (
        "/dev/nvidia3: passed to container 201 too; let one have it",
    )


@pytest.mark.scenario("T7")
def test_the_default_mode_is_noted_since_it_is_root_s_alone() -> None:
    text = BY_DEVICE.replace("/dev/nvidia0,mode=0666", "/dev/nvidia0").replace("gid=44,", "")
    assert told(text) == (
        "dev0: only root in the container may use it; a server of another user needs mode=0666 or "
        "gid=",
    )


@pytest.mark.scenario("T1")
def test_deny_write_is_told() -> None:
    assert told(BY_DEVICE.replace("deny-write=0", "deny-write=1")) == (
        "dev2: /dev/nvidiactl is read-only (deny-write), so CUDA cannot use it",
    )


@pytest.mark.scenario("T9")
def test_a_privileged_container_reaches_what_its_cgroup_allows() -> None:
    (problem,) = told(RAW.replace("unprivileged: 1\n", ""))
    assert problem.startswith("lxc.cgroup2.devices.allow: allows /dev/nvidia2, /dev/nvidia3,")
    assert minors("lxc.cgroup2.devices.allow: c 195:* rwm\n") == list(ALL)


def test_the_key_of_the_older_cgroups_is_told_and_counts_for_nothing() -> None:
    text = "lxc.cgroup.devices.allow: c 195:* rwm\n"
    assert minors(text) == []
    assert told(text) == (
        "lxc.cgroup.devices.allow: c 195:* rwm: is ignored on cgroup version 2; write lxc.cgroup2",
    )


def test_a_gpu_without_its_control_nodes_is_told() -> None:
    assert told("dev0: /dev/nvidia0,mode=0666\n") == (
        "a GPU is passed without /dev/nvidiactl: nothing of the driver works; pass it too",
        "a GPU is passed without /dev/nvidia-uvm: CUDA does not start, though nvidia-smi works; "
        "pass it too",
    )


def test_nodes_may_have_other_numbers_where_they_are_stand_ins() -> None:
    passed = passthrough.parse(RAW.replace("c 195:* rwm", "c 7:20 rwm"))
    assert passed.gpu_minors(ALL, {"/dev/nvidia0": (7, 20), "/dev/nvidia1": (7, 21)}) == [0]


def test_lines_that_mean_nothing_are_survived() -> None:
    text = (
        "dev0:\ndev1: ,,=,mode=9,uid=x\nlxc.cgroup2.devices.allow: z\nlxc.mount.entry: /dev/x\n[x"
    )
    assert [device.path for device in passthrough.parse(text).devices] == [".", "."]
    assert minors(text) == []
    assert minors("dev0: /dev/../dev//nvidia2\n") == [2]
