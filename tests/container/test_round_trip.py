"""Create, read back, no change; then one key said otherwise, and that key alone differs."""

import random
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.container import configuration, creation, difference
from stoker.container.configuration import Configuration
from stoker.container.devices import Device
from stoker.container.difference import Difference
from stoker.container.wanted import Wanted
from stoker.sandbox.node import conf, schema
from tests.container import generated, lab, stored

DEVICES = (Device("/dev/nvidia3"), Device("/dev/nvidiactl"), Device("/dev/nvidia-uvm"))


def devices_of(wanted: Wanted) -> tuple[Device, ...]:
    return tuple(Device(one.path, wanted.mode, wanted.device_gid) for one in DEVICES)


def of(wanted: Wanted, actual: Configuration, running: bool = False) -> Difference:
    devices = devices_of(wanted) if wanted.gpus else ()
    return difference.between(wanted, devices, actual, lab.PVE9, running)


def made(wanted: Wanted) -> dict[str, str]:
    return creation.options(wanted, 200, devices_of(wanted) if wanted.gpus else ())


def keys_of(found: Difference) -> list[str]:
    return [*(change.key for change in found.changes), *(disk for disk, _size in found.growths)]


def test_the_generated_ones_say_every_key() -> None:
    wanted = generated.configurations(1)
    assert len(wanted) >= 50
    assert set().union(*(one.model_fields_set for one in wanted)) == set(Wanted.model_fields)


def test_the_stand_ins_schema_and_file_have_nothing_against_them() -> None:
    for one in generated.configurations(7):
        options = made(one)
        keys = [key for key in options if key not in ("ostemplate", "storage", "pool")]
        assert {key: schema.complaint(key, options[key]) for key in keys} == dict.fromkeys(keys)
        assert all(schema.find(key) for key in keys)
        text = conf.render(conf.parse(stored.text(options), 200))
        assert of(one, configuration.parse(text)) == Difference(), one


def check(wanted: Sequence[Wanted], chance: random.Random) -> None:
    for one in wanted:
        actual = configuration.parse(stored.text(made(one)))
        assert of(one, actual) == Difference(), one
        other, key = generated.changed(one, chance)
        assert keys_of(of(other, actual)) == [key], (one, other)


def test_fifty_are_read_back_as_they_were_said() -> None:
    check(generated.configurations(6), random.Random(6))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1 << 32))
def test_any_are(seed: int) -> None:
    check(generated.configurations(seed, count=5), random.Random(seed))
