"""Which devN there are for the GPUs that are wanted."""

from typing import Any

import pytest

from stoker.container.configuration import Configuration
from stoker.container.devices import Device
from stoker.container.difference import Change, Difference, Effect
from stoker.container.version import Version
from stoker.container.wanted import Wanted
from stoker.refused import Refused
from tests.container import lab
from tests.container.test_difference import of

PLUGGED, RESTART = Effect.PLUGGED, Effect.RESTART


def devices_of(*values: str) -> Configuration:
    return Configuration({f"dev{n}": value for n, value in enumerate(values)})


@pytest.mark.parametrize(
    ("value", "data", "is_left"),
    [
        ("/dev/nvidia0,mode=0666", {}, True),
        ("path=/dev/nvidia0,gid=44,mode=0777", {}, True),
        ("/dev/nvidia0", {}, False),
        ("/dev/nvidia0,mode=0660,gid=44", {}, False),
        ("/dev/nvidia0,mode=0664", {}, False),
        ("/dev/nvidia0,mode=0666,deny-write=1", {}, False),
        ("/dev/nvidia0,gid=1000", {"device_gid": 1000}, True),
        ("/dev/nvidia0,gid=44", {"device_gid": 1000}, False),
        ("/dev/nvidia0,mode=0666", {"device_gid": 1000}, True),
        ("/dev/nvidia0,mode=0666", {"device_mode": "0660", "device_gid": 1000}, False),
        ("/dev/nvidia0,mode=0660,gid=1000", {"device_mode": "0660", "device_gid": 1000}, True),
    ],
)
def test_a_device_that_lets_the_service_in_is_left(
    value: str, data: dict[str, Any], is_left: bool
) -> None:
    wanted = Wanted.of({"gpus": "all", **data})
    device = Device("/dev/nvidia0", wanted.mode, wanted.device_gid)
    found = of({"gpus": "all", **data}, devices_of(value), (device,))
    assert found.is_empty == is_left
    if not is_left:
        assert found.changes[0].effect is RESTART


def test_a_device_that_is_opened_keeps_what_else_was_said_of_it() -> None:
    found = of({"gpus": "all"}, devices_of("/dev/nvidia0,gid=44,uid=7"), lab.DEVICES[:1])
    assert found.options == {"dev0": "/dev/nvidia0,gid=44,uid=7,mode=0666"}


def test_a_new_device_is_plugged_in_since_proxmox_9_and_waits_before() -> None:
    there = devices_of("/dev/fuse")
    for version, effect in ((lab.PVE8, RESTART), (lab.PVE9, PLUGGED)):
        found = of({"gpus": "all"}, there, lab.DEVICES[:1], version)
        assert found.changes == (Change("dev1", None, "/dev/nvidia0,mode=0666", effect),)


def test_before_8_1_there_is_no_way_to_pass_one() -> None:
    with pytest.raises(Refused, match=r"container\.gpus: pve-container 5\.0\.6 has no devN"):
        of({"gpus": "all"}, version=Version((5, 0, 6)))
    assert of(lab.SAID | {"gpus": []}, Configuration(), (), Version((4, 4, 6))).options


def test_other_gpus_go_and_what_is_not_nvidias_stays() -> None:
    there = devices_of(
        *("/dev/nvidia0,mode=0666", "/dev/nvidia3,mode=0666", "/dev/fuse", "/dev/dri/card0"),
        *("/dev/nvidia-modeset", "/dev/nvidia-caps/nvidia-cap1", "/dev/nvidiactl,mode=0666"),
    )
    wanted = (lab.DEVICES[0], Device("/dev/nvidiactl"))
    found = of({"gpus": ["0000:01:00.0"]}, there, wanted)
    assert found.changes == (Change("dev1", "/dev/nvidia3,mode=0666", None, RESTART),)
    none = of({"gpus": []}, there, ())
    assert none.deletes == ("dev0", "dev1", "dev4", "dev5", "dev6")


def test_a_gpu_passed_twice_is_passed_once() -> None:
    twice = devices_of("/dev/nvidia0,mode=0666", "/dev/fuse", "/dev/nvidia0,mode=0666")
    assert of({"gpus": "all"}, twice, lab.DEVICES[:1]).deletes == ("dev2",)


def test_without_gpus_in_the_data_or_a_device_on_the_node_none_is_touched() -> None:
    there = devices_of("/dev/nvidia3")
    assert of({}, there, lab.DEVICES) == Difference()
    assert of({"gpus": "all"}, there, ()) == Difference()
