from typing import Any

import pytest

from stoker.container import configuration, difference
from stoker.container.configuration import Configuration
from stoker.container.devices import Device
from stoker.container.difference import Change, Difference, Effect
from stoker.container.version import Version
from stoker.container.wanted import Wanted
from stoker.refused import Refused
from tests.container import lab

NOW, PLUGGED, RESTART = Effect.NOW, Effect.PLUGGED, Effect.RESTART


def of(
    data: dict[str, Any],
    actual: Configuration | None = None,
    devices: tuple[Device, ...] = lab.DEVICES,
    version: Version = lab.PVE9,
    running: bool = True,
) -> Difference:
    there = actual or configuration.parse(lab.text())
    return difference.between(Wanted.of(data), devices, there, version, running)


@pytest.mark.parametrize("unprivileged", [True, False])
@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("version", [lab.PVE8, lab.PVE9])
def test_the_labs_container_is_adopted_without_a_change(
    unprivileged: bool, running: bool, version: Version
) -> None:
    there = configuration.parse(lab.text(unprivileged))
    assert of(lab.SAID, there, version=version, running=running) == Difference()
    assert of({}, there, version=version, running=running) == Difference()


def test_each_key_takes_effect_in_its_own_time() -> None:
    found = of(
        {
            **lab.SAID,
            "hostname": "gpu-b",
            "memory_mib": 1024,
            "features": {"keyctl": True},
            "nameserver": "192.0.2.53",
            "tags": ["stoker", "GPU"],
            "networks": [{"name": "eth0", "mtu": 9000}, {"name": "eth1", "bridge": "vmbr1"}],
            "mounts": [
                {"source": "/tank/other", "target": "/models"},
                {"source": "/tank/jit", "target": "/jit"},
            ],
        }
    )
    assert found.changes == (
        Change("features", "nesting=1", "nesting=1,keyctl=1", RESTART),
        Change("hostname", "gpu-a", "gpu-b", NOW),
        Change("memory", "524288", "1024", PLUGGED),
        Change("mp0", "/tank/models,mp=/models,ro=1", "/tank/other,mp=/models,ro=1", RESTART),
        Change("mp1", None, "/tank/jit,mp=/jit", PLUGGED),
        Change("nameserver", None, "192.0.2.53", RESTART),
        Change("net0", lab.NET0, f"{lab.NET0},mtu=9000", PLUGGED),
        Change("net1", None, "name=eth1,bridge=vmbr1", PLUGGED),
        Change("tags", "gpu;lab", "gpu;lab;stoker", NOW),
    )
    assert lab.needs_restart(found) and not found.told


def test_in_a_stopped_container_everything_is_at_once() -> None:
    found = of({"features": {"keyctl": True}}, running=False)
    assert [change.effect for change in found.changes] == [NOW]
    assert not lab.needs_restart(found)


def test_what_is_no_key_to_set_is_told_and_nothing_is_refused() -> None:
    found = of(
        {
            "unprivileged": False,
            "storage": "local",
            "rootfs_gib": 64,
            "template": "local:vztmpl/other.tar.zst",
            "pool": "other",
            "mounts": [{"source": "local-zfs", "target": "/models"}],
        }
    )
    assert found.changes == () and found.growths == ()
    assert found.told == (
        "unprivileged: is True, not False; this is settled when a container is made: restore a "
        "backup of it the other way",
        "storage: the root file system is on local-zfs, not local; move it with pct move-volume",
        "rootfs_gib: the root file system has 256G, more than 64; a volume never shrinks",
        "mounts: /models is /tank/models, not local-zfs; move what it holds and remove it yourself",
    )


def test_volumes_grow() -> None:
    there = configuration.parse(
        lab.text(more="mp7: local-zfs:subvol-200-disk-1,mp=/data,size=8G\n")
    )
    data = {"source": "local-zfs", "target": "/data"}

    def grows(rootfs: int, size: int) -> Difference:
        return of({"rootfs_gib": rootfs, "mounts": [{**data, "size_gib": size}]}, there)

    assert grows(257, 9).growths == (("rootfs", "257G"), ("mp7", "9G"))
    assert not grows(257, 9).is_empty
    assert grows(256, 8) == Difference()
    assert grows(256, 4).told == (
        "mounts: /data has 8G, more than size_gib 4; a volume never shrinks",
    )
    assert of({"mounts": [data]}, there) == Difference()


def test_a_volume_keeps_its_place_and_changes_its_flags() -> None:
    volume = "local-zfs:subvol-200-disk-1,mp=/data,backup=1,size=8G"
    there = configuration.parse(lab.text(more=f"mp7: {volume}\n"))
    said = {"source": "local-zfs", "target": "/data", "read_only": True, "backup": False}
    assert of({"mounts": [said]}, there).options == {
        "mp7": "local-zfs:subvol-200-disk-1,mp=/data,backup=0,size=8G,ro=1"
    }


def test_a_new_interface_needs_a_bridge_and_a_new_volume_a_size() -> None:
    data = {
        "networks": [{"name": "lan", "mtu": 9000}, {"name": "eth0", "mtu": 1500}],
        "mounts": [{"source": "local-zfs", "target": "/data"}],
    }
    with pytest.raises(Refused) as refused:
        of(data)
    assert str(refused.value).splitlines() == [
        "cannot make the container what is wanted:",
        "container.networks: lan is new and has no bridge",
        "container.mounts: /data is new and has no size_gib",
    ]


def test_a_gateway_goes_with_the_fixed_address_that_it_was_of() -> None:
    six = lab.NET0 + ",gw6=2001:db8::1,ip6=2001:db8::20/64"
    there = configuration.parse(lab.text().replace(lab.NET0, six))
    for word in ("dhcp", "manual"):
        said = {"networks": [{"name": "eth0", "ip": word}]}
        net0 = of(said, there).options["net0"]
        assert f",ip={word}," in net0 and "gw=" not in net0
        assert ",gw6=2001:db8::1" in net0 and ",hwaddr=BC:24:11:00:00:01" in net0
    net0 = of({"networks": [{"name": "eth0", "ip6": "auto"}]}, there).options["net0"]
    assert "gw6" not in net0 and ",gw=192.0.2.1" in net0
    other = {"networks": [{"name": "eth0", "ip": "192.0.2.21/24"}]}
    assert ",gw=192.0.2.1" in of(other, there).options["net0"]


def test_a_protected_container_keeps_its_mounts() -> None:
    there = configuration.parse(lab.text(more="protection: 1\n"))
    data = {"protection": False, "mounts": [{"source": "/tank/jit", "target": "/jit"}]}
    with pytest.raises(Refused, match=r"cannot change mp1: the container is protected"):
        of(data, there)
    assert of({**lab.SAID, "protection": True}, there) == Difference()


def test_a_tag_that_is_there_is_not_added_whatever_its_case() -> None:
    assert of({"tags": ["GPU", "Lab"]}) == Difference()


def test_a_flag_that_is_off_is_as_good_as_none() -> None:
    off = {"protection": False, "features": {"keyctl": False, "mount": []}, "startup": {}}
    assert of({**off, "networks": [{"name": "eth0"}]}) == Difference()
    assert of({"features": {"nesting": False}}).options == {"features": "nesting=0"}
    mounts = Configuration({"features": "mount=nfs,fuse=1"})
    assert of({"features": {"mount": []}}, mounts).options == {"features": "fuse=1"}


def test_an_empty_description_takes_it_away() -> None:
    assert of({"description": ""}).deletes == ("description",)
