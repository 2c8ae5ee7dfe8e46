from typing import Any

import pytest

from stoker.container import configuration, difference
from stoker.container.configuration import Configuration
from stoker.container.devices import Device
from stoker.container.difference import Change, Difference, Effect
from stoker.container.version import Version
from stoker.container.wanted import Wanted
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
    assert found.needs_restart and not found.told


def test_in_a_stopped_container_everything_is_at_once() -> None:
    found = of({"features": {"keyctl": True}}, running=False)
    assert [change.effect for change in found.changes] == [NOW]
    assert not found.needs_restart
