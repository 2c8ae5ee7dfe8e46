"""What the stand-in writes for LXC and into a guest, and how it is put on a node."""

import re
import sys
from pathlib import Path

import pytest

from stoker.sandbox import node
from stoker.sandbox.node import (
    accounts,
    conf,
    guest_files,
    guests,
    lxc_config,
    networks,
    startup_cost,
    table,
)

NET = "name=eth0,bridge=vmbr0,ip=198.51.100.200/26,gw=198.51.100.193"


def test_an_unprivileged_container_is_shifted_and_lies_where_proxmox_puts_it() -> None:
    config = conf.parse(f"hostname: gpu-a\nmemory: 1024\nnet0: {NET}\nunprivileged: 1\n", 200)
    text = lxc_config.text(200, config, [])
    for line in (
        "lxc.cgroup.relative = 0",
        "lxc.cgroup.dir.container = lxc/200",
        "lxc.cgroup.dir.container.inner = ns",
        "lxc.cgroup.dir.monitor = lxc.monitor/200",
        "lxc.idmap = u 0 100000 65536",
        "lxc.net.0.link = vmbr0",
        "lxc.net.0.veth.pair = veth200i0",
        "lxc.uts.name = gpu-a",
    ):
        assert f"{line}\n" in text
    assert "memory.max" not in text


def test_limits_are_set_only_where_the_node_has_the_controller() -> None:
    config = conf.parse("memory: 1024\ncpulimit: 1.5\n", 200)
    text = lxc_config.text(200, config, ["memory", "cpu"])
    assert "lxc.cgroup2.memory.max = 1073741824\n" in text
    assert "lxc.cgroup2.cpu.max = 150000 100000\n" in text


def test_raw_keys_come_last_and_a_device_brings_its_rule() -> None:
    raw = "lxc.cgroup2.devices.allow: c 195:* rwm\n"
    lines = lxc_config.text(101, conf.parse(f"dev0: /dev/null\n{raw}", 101), []).splitlines()
    assert lines[-1] == "lxc.cgroup2.devices.allow = c 195:* rwm"
    assert "lxc.cgroup2.devices.allow = c 1:3 rwm" in lines
    source = "/var/lib/lxc/101/passthrough/dev/null"
    assert f"lxc.mount.entry = {source} dev/null none bind,create=file 0 0" in lines


def test_the_network_is_written_for_ifupdown_as_proxmox_does() -> None:
    nets = networks.all_of({"net0": NET, "net1": "name=eth1,ip=dhcp"})
    assert guest_files.interfaces(nets) == (
        "auto lo\niface lo inet loopback\n\n"
        "auto eth0\niface eth0 inet static\n\taddress 198.51.100.200/26\n"
        "\tgateway 198.51.100.193\n\n"
        "auto eth1\niface eth1 inet dhcp\n"
    )


def test_the_network_is_written_for_systemd_where_there_is_no_ifupdown() -> None:
    unit = guest_files.networkd_unit(networks.all_of({"net0": NET})[0][1])
    assert "Address = 198.51.100.200/26\nGateway = 198.51.100.193\nDHCP = no\n" in unit


def test_only_proxmoxs_own_section_of_hosts_is_replaced() -> None:
    before = "127.0.0.1 localhost\n# --- BEGIN PVE ---\n198.51.100.9 old\n# --- END PVE ---\nx\n"
    section = guest_files.hosts_section("new.lab", networks.all_of({"net0": NET}))
    assert guest_files.with_section(before, section) == (
        "127.0.0.1 localhost\n# --- BEGIN PVE ---\n198.51.100.200 new.lab new\n"
        "# --- END PVE ---\nx\n"
    )


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({}, "search lab\nnameserver 192.0.2.1\n"),
        (
            {"nameserver": "192.0.2.9 192.0.2.8"},
            "nameserver 192.0.2.9\nnameserver 192.0.2.8\nsearch lab\n",
        ),
        ({"nameserver": "192.0.2.9", "searchdomain": "x"}, "search x\nnameserver 192.0.2.9\n"),
    ],
)
def test_resolv_conf_is_the_nodes_where_the_container_says_nothing(
    keys: dict[str, str], text: str
) -> None:
    assert guest_files.resolv_conf(keys, "search lab\nnameserver 192.0.2.1\n") == text


def test_guests_start_by_order_and_then_by_id() -> None:
    keys = {103: {}, 102: {}, 110: {"startup": "order=1"}, 105: {"startup": "2,up=3"}}
    assert guests.order(keys) == [110, 105, 102, 103]


def test_installing_twice_leaves_one_working_set_of_links(tmp_path: Path) -> None:
    for _ in range(2):
        node.install(tmp_path, "pve1")
    assert (tmp_path / "usr/sbin/pct").readlink() == Path("/usr/lib/stoker-sandbox/launch.py")
    assert (tmp_path / "etc/pve/lxc").samefile(tmp_path / "etc/pve/nodes/pve1/lxc")
    assert (tmp_path / "usr/lib/stoker-sandbox/launch.py").stat().st_mode & 0o111
    assert (tmp_path / "etc/subuid").read_text() == "root:100000:65536\n"
    assert not list(tmp_path.rglob("*.new"))


def test_what_runs_on_the_node_imports_the_standard_library_and_itself_only() -> None:
    for path in node.HERE.glob("*.py"):
        for name in re.findall(r"^(?:from|import) ([a-z_]+)", path.read_text(), re.MULTILINE):
            assert name in sys.stdlib_module_names, f"{path.name} imports {name}"


def test_every_file_says_that_it_is_a_stand_in() -> None:
    for path in node.HERE.iterdir():
        if path.suffix in (".py", ".service"):
            assert re.search("stand-in", path.read_text()[:300], re.IGNORECASE), path.name


def test_the_start_up_cost_is_processor_time_unless_the_setting_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(startup_cost, "SETTING", str(tmp_path / "pct-cost"))
    assert startup_cost.seconds() == startup_cost.MEASURED_S
    (tmp_path / "pct-cost").write_text("0\n")
    assert startup_cost.seconds() == 0


def test_pvesh_boxes_an_object_by_key() -> None:
    assert table.render({"b": 1, "a": "x"}).splitlines()[1:4] == [
        "│ key │ value │",
        "╞═════╪═══════╡",
        "│ a   │ x     │",
    ]


def test_the_version_of_systemd_is_read_from_its_library(tmp_path: Path) -> None:
    assert accounts.systemd_version(str(tmp_path)) == 0
    library = tmp_path / "usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-257.so"
    library.parent.mkdir(parents=True)
    library.touch()
    assert accounts.systemd_version(str(tmp_path)) == 257


@pytest.mark.parametrize(
    ("release", "word"),
    [("ID=debian\n", "debian"), ('ID="ubuntu"\n', "ubuntu"), ("ID=nixos\n", "unmanaged")],
)
def test_the_guests_system_is_read_from_its_os_release(
    tmp_path: Path, release: str, word: str
) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text(release)
    assert accounts.os_type(str(tmp_path)) == word
