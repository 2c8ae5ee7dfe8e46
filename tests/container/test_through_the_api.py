"""The same through an API: each container is created, read back and changed while it runs."""

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from proxmoxer import ProxmoxAPI

from stoker.container import creation, difference
from stoker.container.configuration import Configuration
from stoker.container.difference import Difference, Effect
from stoker.container.wanted import Wanted
from tests.container import answered, generated, lab
from tests.container.test_round_trip import devices_of, keys_of

PLACE = generated.Place(storages=("local-zfs",))


@pytest.fixture
def node(fakepve: Any, fakepve_cafile: str) -> Iterator[Any]:
    fakepve.storages["local-zfs"] = {"type": "zfspool", "active": 1, "content": "images,rootdir"}
    fakepve.pools["gpu"] = set()
    api = ProxmoxAPI(
        "127.0.0.1",
        port=fakepve.port,
        user="root@pam",
        password="secret",
        verify_ssl=fakepve_cafile,
    )
    yield api.nodes("pve1")


def read(node: Any, vmid: int) -> Configuration:
    one = node.lxc(vmid)
    return answered.configuration(one.config.get(current=1), one.pending.get())


def done(node: Any, upid: str) -> None:
    task = node.tasks(upid).status.get()
    assert (task["status"], task["exitstatus"]) == ("stopped", "OK"), task


def of(wanted: Wanted, actual: Configuration, running: bool = False) -> Difference:
    devices = devices_of(wanted) if wanted.gpus else ()
    return difference.between(wanted, devices, actual, lab.PVE9, running)


def put(node: Any, vmid: int, found: Difference) -> None:
    if found.reverts:
        node.lxc(vmid).config.put(revert=",".join(found.reverts))
    if found.options or found.deletes:
        more: Mapping[str, str] = {"delete": ",".join(found.deletes)} if found.deletes else {}
        node.lxc(vmid).config.put(**found.options, **more)
    for disk, size in found.growths:
        node.lxc(vmid).resize.put(disk=disk, size=size)


def test_fifty_are_created_read_back_and_changed_by_one_key_while_they_run(node: Any) -> None:
    chance = random.Random(6)
    for vmid, wanted in enumerate(generated.configurations(6, 50, PLACE), 200):
        devices = devices_of(wanted) if wanted.gpus else ()
        done(node, node.lxc.create(vmid=vmid, **creation.options(wanted, vmid, devices)))
        assert of(wanted, read(node, vmid)) == Difference(), wanted
        done(node, node.lxc(vmid).status.start.post())
        other, key = generated.changed(wanted, chance)
        found = of(other, read(node, vmid), running=True)
        assert keys_of(found) == [key], (wanted, other)
        put(node, vmid, found)
        after = of(other, read(node, vmid), running=True)
        assert after.is_empty, (other, after)
        expected = [change for change in found.changes if change.effect is Effect.RESTART]
        assert [change.key for change in after.waiting] == [change.key for change in expected]
