from stoker.container import configuration
from tests.container import lab

TEXT = """#first%3A 100 %25
#
#third
cores: 4
dev0: /dev/nvidia0,mode=0666
not a line
net0: name=eth0,bridge=vmbr0
lxc.mount.entry: /dev/x dev/x none bind
LXC.cgroup2.devices.allow = c 195:* rwm

[pve:pending]
dev0: /dev/nvidia1
delete: mp1, !mp2

[before]
#of the snapshot
cores: 2
lxc.idmap: u 0 100000 65536
"""


def test_a_file_is_read_with_its_sections_apart() -> None:
    found = configuration.parse(TEXT)
    assert found.keys == {
        "description": "first: 100 %\n\nthird",
        "cores": "4",
        "dev0": "/dev/nvidia0,mode=0666",
        "net0": "name=eth0,bridge=vmbr0",
    }
    assert found.raw == (
        ("lxc.mount.entry", "/dev/x dev/x none bind"),
        ("lxc.cgroup2.devices.allow", "c 195:* rwm"),
    )
    assert found.pending == {"dev0": "/dev/nvidia1"}
    assert found.deletes == ("mp1", "mp2")
    assert found.snapshots == ("before",)


def test_the_labs_file_is_read_whole() -> None:
    found = configuration.parse(lab.text())
    assert len(found.keys) == 28
    assert found.keys["description"] == lab.SAID["description"]
    assert found.snapshots == ("before-update",)
