"""What waits for the next start: somebody's, ours, both."""

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.container import difference, property_string
from stoker.container.configuration import Configuration
from stoker.container.devices import Device
from stoker.container.difference import Change, Difference, Effect
from stoker.container.wanted import Wanted
from tests.container import lab
from tests.container.kept import Kept

NOW, RESTART = Effect.NOW, Effect.RESTART
ZERO, ONE = "/dev/nvidia0,mode=0666", "/dev/nvidia1,mode=0666"


def of(
    keys: dict[str, str],
    pending: dict[str, str],
    deletes: tuple[str, ...] = (),
    minors: tuple[int, ...] = (0,),
    **data: Any,
) -> Difference:
    actual = Configuration(keys, (), pending, deletes)
    devices = tuple(Device(f"/dev/nvidia{minor}") for minor in minors)
    wanted = Wanted.of({"gpus": "all" if minors else [], **data})
    return difference.between(wanted, devices, actual, lab.PVE8, True)


def test_what_is_pending_with_the_right_value_is_not_set_again_and_waits() -> None:
    pending = {"features": "keyctl=yes,fuse=1", "dev0": ZERO}
    found = of({"features": "fuse=1"}, pending, features={"keyctl": True})
    assert found.changes == ()
    assert found.waiting == (
        Change("dev0", None, ZERO, RESTART),
        Change("features", "fuse=1", "keyctl=yes,fuse=1", RESTART),
    )
    assert lab.needs_restart(found)


def test_what_holds_and_would_be_changed_by_the_next_start_is_taken_back() -> None:
    for pending, deletes in (({"dev0": ONE}, ()), ({}, ("dev0",))):
        found = of({"dev0": ZERO}, pending, deletes)
        assert found.changes == (Change("dev0", pending.get("dev0"), ZERO, NOW, reverted=True),)
        assert found.reverts == ("dev0",) and not found.options and not lab.needs_restart(found)


def test_what_is_pending_otherwise_is_overwritten_and_keeps_what_nobody_declared() -> None:
    found = of({}, {"net0": "name=eth0,bridge=a,tag=7"}, minors=(), networks=[_ETH0])
    assert found.options == {"net0": "name=eth0,bridge=b,tag=7"}


_ETH0 = {"name": "eth0", "bridge": "b"}


def test_a_device_changed_and_to_be_deleted_is_first_taken_back() -> None:
    found = of({"dev0": ZERO, "dev4": ONE}, {"dev4": "/dev/nvidia2"})
    assert found.changes == (
        Change("dev4", "/dev/nvidia2", ONE, NOW, reverted=True),
        Change("dev4", ONE, None, RESTART),
    )
    assert (found.reverts, found.deletes, found.options) == (("dev4",), ("dev4",), {})


def test_a_device_that_was_only_to_come_is_taken_back() -> None:
    found = of({"dev0": ZERO}, {"dev4": ONE})
    assert found.changes == (Change("dev4", ONE, None, NOW, reverted=True),)
    assert (found.reverts, found.deletes) == (("dev4",), ())


def test_a_delete_that_waits_is_not_asked_for_again() -> None:
    found = of({"dev0": ZERO, "dev4": ONE}, {}, ("dev4",))
    assert found.changes == () and found.told == ()
    assert found.waiting == (Change("dev4", ONE, None, RESTART),)


def test_a_slot_that_becomes_the_wanted_device_is_not_deleted_for_what_it_is_now() -> None:
    found = of({"dev0": ONE}, {"dev0": ZERO})
    assert found.changes == () and [change.key for change in found.waiting] == ["dev0"]


def test_a_new_device_takes_no_number_that_is_to_come() -> None:
    found = of({"dev0": "/dev/fuse"}, {"dev1": "/dev/dri/card0"}, ("dev0",))
    assert found.options == {"dev2": ZERO}


def test_two_devices_never_take_one_number() -> None:
    found = of({"dev0": ZERO}, {"dev0": ONE}, minors=(0, 1))
    assert (found.reverts, found.options) == (("dev0",), {"dev1": ONE})


def test_what_is_changed_and_deleted_at_once_is_set_again() -> None:
    found = of({"dev0": "/dev/nvidia0"}, {"dev0": ZERO}, ("dev0",))
    assert found.options == {"dev0": ZERO}


def test_what_waits_and_is_nobodys_here_is_told_and_no_reason_to_restart() -> None:
    wheels = "/var/lib/stoker/wheels,mp=/var/lib/stoker/wheels,ro=1"
    found = of({"dev0": ZERO, "tty": "2"}, {"mp3": wheels, "console": "0"}, ("tty",))
    assert found.told == (
        "console: becomes 0 at the next start, which the inventory does not say",
        "tty: goes at the next start, which the inventory does not say",
    )
    assert found.is_empty and not lab.needs_restart(found)


_NODES = ("nvidia0", "nvidia1", "nvidia2", "nvidiactl", "fuse")
_PATHS = st.sampled_from([f"/dev/{node}" for node in _NODES])
_VALUES = st.builds(str.__add__, _PATHS, st.sampled_from(["", ",mode=0666", ",gid=44,mode=0660"]))
_SLOTS = st.sampled_from(["dev0", "dev1", "dev2", "dev5"])
_DEVICE_KEYS = st.dictionaries(_SLOTS, _VALUES, max_size=4)


@settings(max_examples=60, deadline=None)
@given(
    _DEVICE_KEYS,
    _DEVICE_KEYS,
    st.sets(st.sampled_from(["dev0", "dev1", "dev5"])),
    st.sets(st.integers(0, 2)),
    st.booleans(),
    st.booleans(),
)
def test_whatever_waits_one_run_and_a_start_make_it_right(
    now: dict[str, str],
    pending: dict[str, str],
    deletes: set[str],
    minors: set[int],
    running: bool,
    plugs: bool,
) -> None:
    kept = Kept(now, pending, deletes & now.keys(), running, plugs)
    others = {key: value for key, value in now.items() if "nvidia" not in value}
    devices = tuple(Device(f"/dev/nvidia{minor}") for minor in sorted(minors))
    wanted = Wanted.of({"gpus": "all" if devices else []})
    version = lab.PVE9 if plugs else lab.PVE8

    def found() -> Difference:
        return difference.between(wanted, devices, kept.read(), version, running)

    kept.put(found())
    assert found().is_empty
    kept.start()
    assert found() == Difference()
    passed = {property_string.parse("dev", value)["path"] for value in kept.now.values()}
    cards = {path for path in passed if re.fullmatch(r"/dev/nvidia\d+", path)}
    assert cards == {device.path for device in devices}
    assert all(kept.now.get(key, value) == value or key in pending for key, value in others.items())
