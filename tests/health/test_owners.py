"""Whose a process is, by its cgroup, on the paths that Proxmox and LXC really make."""

import pytest

from stoker.health.owners import owner


@pytest.mark.parametrize(
    ("path", "kind", "vmid", "unit"),
    [
        pytest.param("/lxc/200/ns", "ct", 200, "", marks=pytest.mark.scenario("O1")),
        pytest.param("/lxc/200/ns/init.scope", "ct", 200, "init.scope"),
        pytest.param("/lxc/200", "ct", 200, ""),
        pytest.param("/lxc/200/ns/.lxc", "ct", 200, "", marks=pytest.mark.scenario("O2")),
        pytest.param("/lxc/200/ns/.lxc-1", "ct", 200, "", marks=pytest.mark.scenario("O2")),
        pytest.param(
            "/lxc/200/ns/system.slice/sglang.service",
            "ct",
            200,
            "sglang.service",
            marks=pytest.mark.scenario("O3"),
        ),
        pytest.param(
            "/lxc/200/ns/system.slice/system-sglang.slice/sglang@3.service",
            "ct",
            200,
            "sglang@3.service",
            marks=pytest.mark.scenario("O3"),
        ),
        pytest.param(
            "/lxc/200/ns/user.slice/user-0.slice/session-c1.scope", "ct", 200, "session-c1.scope"
        ),
        pytest.param(
            "/lxc/200/ns/user.slice/user-1000.slice/user@1000.service/app.slice/tmux.scope",
            "ct",
            200,
            "tmux.scope",
        ),
        pytest.param(
            "/lxc/200/ns/system.slice/docker-5f3c.scope",
            "ct",
            200,
            "docker-5f3c.scope",
            marks=pytest.mark.scenario("O4"),
        ),
        pytest.param(
            "/lxc/200/ns/system.slice/containerd.service/kubepods/pod1",
            "ct",
            200,
            "containerd.service",
        ),
        pytest.param("/lxc.monitor/200", "ct-monitor", 200, "", marks=pytest.mark.scenario("O5")),
        pytest.param("/lxc/2000/ns", "ct", 2000, "", marks=pytest.mark.scenario("O7")),
        pytest.param("/lxc.monitor/2000", "ct-monitor", 2000, ""),
        pytest.param("/lxc/200x/ns", "ct", None, ""),
        pytest.param("/lxc/0200/ns", "ct", None, ""),
        pytest.param("/lxc.payload.web", "ct", None, "", marks=pytest.mark.scenario("O8")),
        pytest.param("/lxc.payload.200/init.scope", "ct", None, "init.scope"),
        pytest.param("/lxc.monitor.web", "ct-monitor", None, ""),
        pytest.param(
            "/qemu.slice/300.scope", "vm", 300, "300.scope", marks=pytest.mark.scenario("O9")
        ),
        pytest.param(
            "/system.slice/nvidia-persistenced.service", "host", None, "nvidia-persistenced.service"
        ),
        pytest.param(
            "/system.slice/pve-container@200.service", "host", None, "pve-container@200.service"
        ),
        pytest.param(
            "/user.slice/user-0.slice/session-4.scope",
            "host",
            None,
            "session-4.scope",
            marks=pytest.mark.scenario("O10"),
        ),
        pytest.param("/", "host", None, ""),
        pytest.param("/../../lxc/200/ns", "host", None, ""),
        pytest.param("/system.slice/lxc/200/ns", "host", None, ""),
        pytest.param("/lxcfs/200", "host", None, ""),
        pytest.param("/lxc", "host", None, ""),
    ],
)
def test_a_path_names_one_owner(path: str, kind: str, vmid: int | None, unit: str) -> None:
    found = owner(f"0::{path}\n")
    assert (found.kind, found.vmid, found.unit, found.cgroup) == (kind, vmid, unit, path)


@pytest.mark.scenario("O6")
def test_version_2_is_believed_where_both_are_there() -> None:
    text = "5:devices:/lxc/200/ns\n1:name=systemd:/lxc/200/ns/init.scope\n0::/lxc/200/ns\n"
    assert owner(text).cgroup == "/lxc/200/ns"


@pytest.mark.scenario("O6")
def test_systemds_hierarchy_stands_in_for_an_empty_version_2() -> None:
    text = "5:devices:/lxc/200/ns\n1:name=systemd:/lxc/200/ns/system.slice/a.service\n0::/\n"
    assert owner(text).unit == "a.service"


@pytest.mark.scenario("O6")
def test_any_hierarchy_of_version_1_can_name_the_container() -> None:
    assert owner("5:devices:/lxc/200/ns\n4:memory:/lxc/200/ns\n").vmid == 200


def test_a_colon_in_the_path_belongs_to_it() -> None:
    assert owner("0::/lxc/200/ns/system.slice/a:b.service\n").unit == "a:b.service"


@pytest.mark.parametrize("text", ["", "\n", "nonsense", "0:\n", "::::\n"])
def test_a_text_that_tells_nothing_is_the_nodes(text: str) -> None:
    assert owner(text).kind == "host"
