import pytest

from stoker.container import creation
from stoker.container.wanted import Wanted
from stoker.refused import Refused
from tests.container import lab
from tests.container.lab import NEEDED


def test_a_new_container_needs_more_than_one_that_is_there() -> None:
    said = {
        "networks": [{"name": "eth0", "mtu": 9000}],
        "mounts": [{"source": "local-zfs", "target": "/data"}],
    }
    with pytest.raises(Refused) as refused:
        Wanted.of(said).require_creatable()
    assert str(refused.value).splitlines() == [
        "cannot create the container; say in its data:",
        "container.template is not said",
        "container.storage is not said",
        "container.rootfs_gib is not said",
        "container.networks: eth0 is new and has no bridge",
        "container.mounts: /data is new and has no size_gib",
    ]


def test_a_new_container_is_unprivileged_unless_said() -> None:
    made = creation.options(Wanted.of({**NEEDED, "pool": "gpu", "startup": {}}), 200)
    assert made == {
        "ostemplate": "local:vztmpl/d.tar.zst",
        "storage": "local-zfs",
        "rootfs": "local-zfs:8",
        "unprivileged": "1",
        "pool": "gpu",
    }
    assert (
        creation.options(Wanted.of({**NEEDED, "unprivileged": False}), 200)["unprivileged"] == "0"
    )


def test_a_new_container_has_all_that_is_said_in_proxmoxs_words() -> None:
    said = {
        **NEEDED,
        "memory_mib": 2048,
        "features": {"nesting": True, "mount": ["nfs", "cifs"]},
        "startup": {"order": 2, "down_s": 60},
        "tags": ["stoker", "Lab"],
        "networks": [
            {"name": "eth0", "bridge": "vmbr0", "ip": "192.0.2.20/24", "gateway": "192.0.2.1"},
            {"name": "lan", "bridge": "vmbr1", "vlan": 7, "firewall": True, "rate_mbps": 100},
        ],
        "mounts": [
            {"source": "/tank/my models", "target": "/models", "read_only": True},
            {"source": "local-zfs", "target": "/data", "size_gib": 100, "backup": False},
        ],
        "device_gid": 1000,
    }
    made = creation.options(Wanted.of(said), 200, lab.DEVICES[:1])
    assert list(made.items())[4:] == [
        ("memory", "2048"),
        ("features", "nesting=1,mount=nfs;cifs"),
        ("startup", "2,down=60"),
        ("tags", "stoker;lab"),
        ("net0", "name=eth0,bridge=vmbr0,gw=192.0.2.1,ip=192.0.2.20/24"),
        ("net1", "name=lan,bridge=vmbr1,firewall=1,rate=100,tag=7"),
        ("mp0", "/tank/my models,mp=/models,ro=1"),
        ("mp1", "local-zfs:100,mp=/data,backup=0"),
        ("dev0", "/dev/nvidia0,mode=0666"),
    ]


def test_numbers_below_100_are_proxmoxs_own() -> None:
    with pytest.raises(Refused, match="cannot create CT 99: Proxmox keeps"):
        creation.options(Wanted.of(NEEDED), 99)


def test_what_is_set_after_it_is_made() -> None:
    options = {
        "tags": "stoker",
        "mp0": "/tank/models,mp=/models,ro=1",
        "mp1": "local-zfs:100,mp=/data",
        "mp2": "volume=/srv,mp=/srv",
        "rootfs": "local-zfs:8",
    }
    assert list(creation.first(options)) == ["tags", "mp1", "rootfs"]
    assert list(creation.first({**options, "pool": "llm"})) == ["mp1", "rootfs", "pool"]
    assert creation.first({**options, "protection": "1"}) == creation.first(options)
    assert creation.first({"protection": "1"}) == {"protection": "1"}
