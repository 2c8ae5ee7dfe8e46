import ast
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stoker.container.devices import Card
from stoker.facts import proxmox_node
from stoker.facts.on_node import look as script
from stoker.facts.proxmox_node import NotSeen

INFORMATION = """\
Model: \t\t NVIDIA RTX PRO 6000 Blackwell Server Edition
IRQ:   \t\t 210
GPU UUID: \t {uuid}
Bus Location: \t 0000:01:00.0
Device Minor: \t {minor}
GPU Excluded:\t No
"""
UUID = "GPU-4d0f7a52-90b3-5d1e-8a51-0c9d2f7e1a01"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a node that `script` looks at where it takes a root."""
    (tmp_path / "pve").mkdir()
    (tmp_path / "pve/local").symlink_to("nodes/pve1")
    monkeypatch.setattr(script, "PVE", str(tmp_path / "pve"))
    return tmp_path


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def printed(**told: Any) -> str:
    """What the script would print."""
    pve = {"texts": {}, "elsewhere": {}, "machines": {}, "pci": {}, "quorate": True}
    parts: dict[str, Any] = {"pve": pve, "driver": []}
    for part in parts:
        given = told.pop(part, parts[part])
        told[part] = None if given is None else ascii(given)
    every = {
        "node": "pve1",
        "version": "6.1.10",
        "numbers": {},
        "devices": "",
        "own_devices": "",
        "running": [],
        "restarting": [],
        "existing": "[]",
    }
    return ascii(every | told)


def test_the_driver_tells_uuid_and_minor_of_each_gpu() -> None:
    cards = [
        ("0000:01:00.0", "nvidia", INFORMATION.format(uuid=UUID, minor=4)),
        ("0000:21:00.0", "nvidia", INFORMATION.format(uuid="GPU-????????-????", minor=0)),
        ("0000:41:00.0", "vfio-pci", ""),
    ]
    look = proxmox_node.parse(printed(driver=cards))
    assert look.cards == (
        Card(UUID, "0000:01:00.0", 4),
        Card("", "0000:21:00.0", 0),
        Card("", "0000:41:00.0", None, "vfio-pci"),
    )


def test_majors_are_those_of_character_devices_and_a_stand_in_names_its_own() -> None:
    devices = (
        "Character devices:\n  7 vcs\n195 nvidia\n511 nvidia-uvm\n\nBlock devices:\n259 blkext"
    )
    assert proxmox_node.parse(printed(devices=devices)).majors == {
        7: "vcs",
        195: "nvidia",
        511: "nvidia-uvm",
    }
    own = "Character devices:\n  1 mem\n  7 nvidia\n 10 nvidia-uvm\n"
    look = proxmox_node.parse(printed(devices="Character devices:\n 7 vcs\n", own_devices=own))
    assert look.majors == {7: "nvidia", 10: "nvidia-uvm"}


def test_a_cluster_file_system_that_hangs_is_one_sentence() -> None:
    with pytest.raises(NotSeen, match="node pve1: /etc/pve does not answer or is not mounted; see"):
        proxmox_node.parse(printed(pve=None))


def test_a_driver_that_hangs_is_one_sentence() -> None:
    with pytest.raises(NotSeen, match="node pve1: NVIDIA's driver does not answer; see dmesg"):
        proxmox_node.parse(printed(driver=None))


def test_a_node_without_a_python_is_one_sentence() -> None:
    ran = SimpleNamespace(code=127, stdout=b"", stderr=b"sh: 1: /usr/bin/python3: not found\n")
    with pytest.raises(NotSeen, match="ended with 127: sh: 1: /usr/bin/python3: not found; it"):
        proxmox_node.look(lambda _: ran)


def test_containers_are_found_on_every_node_of_the_cluster(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script.os, "uname", lambda: SimpleNamespace(nodename="pve1.example"))
    put(node / "pve/nodes/pve1/lxc/200.conf", "hostname: a\n")
    slots = (
        "hostpci0: 0000:01:00,pcie=1\nname: vm\n[PENDING]\nhostpci1: 21:00.0\n[s]\nhostpci2: 1\n"
    )
    put(node / "pve/nodes/pve1/qemu-server/300.conf", slots)
    put(node / "pve/nodes/pve2/qemu-server/301.conf", slots)
    put(node / "pve/nodes/pve2/lxc/201.conf", "hostname: b\n")
    put(node / "pve/nodes/pve1/lxc/200.conf.tmp.7", "hostname: half\n")
    assert script.configurations() == {
        "texts": {200: "hostname: a\n"},
        "elsewhere": {201: "pve2"},
        "machines": {300: "pve1", 301: "pve2"},
        "pci": {300: ["hostpci0: 0000:01:00,pcie=1", "hostpci1: 21:00.0"]},
        "quorate": True,
    }


def test_a_configuration_comes_as_the_bytes_that_it_is(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script.os, "uname", lambda: SimpleNamespace(nodename="pve1"))
    put(node / "pve/nodes/pve1/lxc/200.conf", "")
    data = b"#caf\xe9\r\ncores: 2\r\n"
    (node / "pve/nodes/pve1/lxc/200.conf").write_bytes(data)
    (told,) = script.literals(script.configurations)
    text = ast.literal_eval(told or "")["texts"][200]
    assert text.encode("utf-8", "surrogateescape") == data


@pytest.mark.parametrize(
    ("members", "quorate"),
    [
        ('{"nodename": "pve1",\n"version": 3}', True),
        ('{"nodename": "pve1",\n"cluster": {"name": "lab", "nodes": 3, "quorate": 1}}', True),
        ('{"nodename": "pve1",\n"cluster": {"name": "lab", "nodes": 3, "quorate": 0}}', False),
    ],
)
def test_a_cluster_tells_whether_it_can_be_written_to(
    node: Path, members: str, quorate: bool
) -> None:
    put(node / "pve/.members", members)
    assert script.quorate() is quorate


def test_a_cluster_that_takes_no_writes_has_no_quorum(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = iter([0o120777, 0o120555])  # of the link, as Proxmox's file system shows it
    monkeypatch.setattr(script.os, "lstat", lambda _: SimpleNamespace(st_mode=next(modes)))
    assert (script.quorate(), script.quorate()) == (True, False)


def test_a_configuration_that_cannot_be_read_is_not_taken_for_an_empty_one(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script.os, "uname", lambda: SimpleNamespace(nodename="pve1"))
    (node / "pve/nodes/pve1/lxc/200.conf").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        script.configurations()
    assert script.literals(script.configurations) == [None]


def test_gpus_are_found_on_the_bus_whoever_has_them(tmp_path: Path) -> None:
    for bdf, vendor, kind in (
        ("0000:01:00.0", "0x10de", "0x030200"),
        ("0000:01:00.1", "0x10de", "0x040300"),
        ("0000:41:00.0", "0x10de", "0x030000"),
        ("0000:02:00.0", "0x8086", "0x030000"),
    ):
        put(tmp_path / f"sys/bus/pci/devices/{bdf}/vendor", f"{vendor}\n")
        put(tmp_path / f"sys/bus/pci/devices/{bdf}/class", f"{kind}\n")
    (tmp_path / "sys/bus/pci/devices/0000:41:00.0/driver").symlink_to("../../drivers/vfio-pci")
    put(tmp_path / "proc/driver/nvidia/gpus/0000:61:00.0/information", "Device Minor: 1\n")
    assert script.cards_of(str(tmp_path)) == [
        ("0000:01:00.0", "", ""),
        ("0000:41:00.0", "vfio-pci", ""),
        ("0000:61:00.0", "nvidia", "Device Minor: 1\n"),
    ]


def test_paths_that_the_node_lacks_are_told_and_those_of_a_dead_server_are_not() -> None:
    paths = ["/tank/models", "/tank/more"]
    look = proxmox_node.parse(printed(existing="['/tank/more']"), paths)
    assert look.missing == ("/tank/models",)
    assert proxmox_node.parse(printed(existing=None), paths).missing == ()


def hang() -> None:
    script.select.select([], [], [])


def fail() -> None:
    raise OSError("not mounted")


def test_what_hangs_is_left_behind_with_what_comes_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(script, "PATIENCE_S", 0.05)
    assert script.literals(lambda: 1, hang, lambda: 3) == ["1", None, None]


def test_what_fails_is_none_and_the_rest_is_told() -> None:
    long = {"a": "ü" * 100_000, "b": "line\nline"}
    assert script.literals(fail, lambda: long) == [None, ascii(long)]


def test_a_program_is_asked_without_a_shell() -> None:
    assert script.program("echo", "a b") == "a b"
    assert script.program("no-such-program") == ""


def test_the_version_of_pve_container_is_in_dpkgs_status() -> None:
    status = (
        "Package: pve-cluster\nStatus: install ok installed\nVersion: 9.1.6\n\n"
        "Package: pve-container\nStatus: {}\nPriority: optional\nVersion: 6.1.10\n"
        "Description: x\n\nPackage: pve-docs\nStatus: install ok installed\nVersion: 9.1\n"
    )
    assert script.in_status(status.format("install ok installed")) == "6.1.10"
    assert script.in_status(status.format("deinstall ok config-files")) == ""
    assert script.in_status("") == ""


def test_the_script_runs_as_the_node_runs_it() -> None:
    words = (*proxmox_node.COMMAND, "/", "/no such")
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    told = ast.literal_eval(ran.stdout)
    assert set(told) >= {"version", "pve", "driver", "numbers", "running"}
    assert told["existing"] == "['/']"


def test_what_a_run_stopped_for_a_change_is_told(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "RESTARTING", str(node / "restarting"))
    assert script.look([])["restarting"] == []
    put(node / "restarting/200", "")
    assert script.look([])["restarting"] == [200]
    assert proxmox_node.parse(printed(restarting=[200])).restarting == {200}
