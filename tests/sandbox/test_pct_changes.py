"""What the stand-in's `pct` stores, and what it says of that. No node is needed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stoker.sandbox.node import (
    change,
    conf,
    hotplug,
    mounts,
    networks,
    running,
    schema,
    store,
    volumes,
)
from stoker.sandbox.node.command import Request
from stoker.sandbox.node.died import BadParameters, Died
from stoker.sandbox.node.property_string import MOUNT_POINT, parse, render

NET = "hwaddr=bc:24:11:00:00:01,tag=7,mtu=9000,host-managed=1,ip=dhcp,bridge=vmbr0,name=eth0"


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> conf.Config:
    """CT 200, stopped; what is not saved is not kept."""
    kept = conf.Config(now=conf.Section({"memory": "512", "arch": "amd64"}))
    text = [conf.render(kept)]

    @contextmanager
    def locked(vmid: int) -> Iterator[None]:
        yield

    def save(vmid: int, config: conf.Config) -> None:
        text[0] = conf.render(config)
        kept.now, kept.pending = config.now, config.pending

    monkeypatch.setattr(store, "locked", locked)
    monkeypatch.setattr(store, "load", lambda vmid: conf.parse(text[0], vmid))
    monkeypatch.setattr(store, "save", save)
    monkeypatch.setattr(running, "is_running", lambda vmid: False)
    return kept


def put(**values: str) -> None:
    change.set_options(Request(200, values, ()))


def test_a_change_is_saved_although_a_device_is_gone(stored: conf.Config) -> None:
    store.save(200, conf.Config(now=conf.Section({"memory": "512", "dev3": "/dev/no-such-gpu"})))
    with pytest.raises(Died, match="Device /dev/no-such-gpu does not exist"):
        put(memory="1024")
    assert stored.now.keys["memory"] == "1024"


def test_a_new_device_that_is_not_there_changes_nothing(stored: conf.Config) -> None:
    with pytest.raises(Died, match="Device /dev/no-such-gpu does not exist"):
        put(memory="1024", dev0="/dev/no-such-gpu")
    assert stored.now.keys == {"memory": "512", "arch": "amd64"}


def test_what_a_running_container_does_not_take_is_not_saved_with_the_rest(
    stored: conf.Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object) -> None:
        raise Died("unable to hotplug /models")

    monkeypatch.setattr(running, "is_running", lambda vmid: True)
    monkeypatch.setattr(hotplug, "plug_mount", refuse)
    with pytest.raises(BadParameters):
        put(memory="1024", mp0=f"{tmp_path},mp=/models")
    assert stored.now.keys["memory"] == "512" and not stored.pending.keys


def test_protection_keeps_the_mounts_as_they_are(stored: conf.Config, tmp_path: Path) -> None:
    put(mp0=f"{tmp_path},mp=/models", protection="1")
    for words, verb in (({"mp1": f"{tmp_path},mp=/b"}, "update"), ({"delete": "mp0"}, "remove")):
        with pytest.raises(Died, match=rf"can't {verb} CT 200 drive 'mp\d' - protection mode"):
            put(**words, protection="0")
    put(memory="600")
    assert stored.now.keys["mp0"] == f"{tmp_path},mp=/models"


def test_tags_are_kept_in_lower_case_once_and_sorted(stored: conf.Config) -> None:
    put(tags="Stoker lab;stoker,gpu")
    assert stored.now.keys["tags"] == schema.tags("gpu;lab;stoker") == "gpu;lab;stoker"


def test_property_strings_come_back_in_proxmoxs_order() -> None:
    assert networks.completed(NET, 200, "net0") == (
        "name=eth0,bridge=vmbr0,host-managed=1,hwaddr=bc:24:11:00:00:01,ip=dhcp,mtu=9000,tag=7,"
        "type=veth"
    )
    volume = "local-zfs:subvol-200-disk-1,size=8G,backup=1,mp=/data"
    assert render(parse(volume, MOUNT_POINT), MOUNT_POINT) == (
        "local-zfs:subvol-200-disk-1,mp=/data,backup=1,size=8G"
    )


def test_a_directory_of_the_node_has_to_be_there_at_a_creation(tmp_path: Path) -> None:
    keys = {"mp3": volumes.new_mount_point(200, f"{tmp_path},ro=1,mp=/a", 0)}
    assert keys == {"mp3": f"{tmp_path},mp=/a,ro=1"}
    mounts.require_sources(keys, 200)
    with pytest.raises(Died, match="directory '/no/such' does not exist"):
        mounts.require_sources({**keys, "mp1": "/no/such,mp=/b"}, 200)


def test_a_directory_of_the_node_keeps_every_snapshot_away() -> None:
    keys = {"rootfs": "local-zfs:vm-200-disk-0,size=8G", "mp1": "local-zfs:vm-200-disk-1,mp=/d"}
    assert volumes.can_snapshot(keys)
    assert not volumes.can_snapshot({**keys, "mp0": f"{os.sep}tank,mp=/models,backup=0"})
    assert not volumes.can_snapshot({**keys, "mp0": "local:8/d.raw,mp=/models"})
