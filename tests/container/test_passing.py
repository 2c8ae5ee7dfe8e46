import pytest

from stoker.container import devices, passing, version
from stoker.container.configuration import parse
from stoker.container.difference import Effect, between
from stoker.container.passing import Passing
from stoker.container.raw_lines import Numbering, lines_for
from stoker.container.wanted import Wanted
from stoker.refused import Refused
from tests.container.cards import FIRST, MAJORS, NUMBERS

NODE = Numbering(NUMBERS, MAJORS)
WANTED = devices.wanted([FIRST], NUMBERS)
PVE_7, PVE_8_0 = version.parse("4.4-7"), version.parse("5.0.5")
PVE_8_1, PVE_8_4 = version.parse("5.0.8"), version.parse("5.2.7")
PVE_9 = version.parse("6.0.18")
PLAIN = "arch: amd64\nhostname: gpu-a\nunprivileged: 1\n"
WORKS = PLAIN + "".join(f"{line}\n" for line in lines_for(WANTED, NODE))
STALE = WORKS.replace("c 511:", "c 509:")


def decided(text: str, node_version: version.Version, migrate: bool = False) -> Passing:
    return passing.decided(200, WANTED, text, node_version, NODE, migrate)


@pytest.mark.parametrize("node_version", [PVE_7, PVE_8_0], ids=str)
def test_before_8_1_raw_lines_that_work_are_accepted_with_a_remark(
    node_version: version.Version,
) -> None:
    found = decided(WORKS, node_version)
    assert found.devices == ()
    assert not found.migrate
    assert found.told == (
        "raw lines pass /dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia-uvm-tools, with "
        "numbers that another kernel or driver may deal out anew; migrate_raw: True writes devN in "
        "their place",
    )


@pytest.mark.parametrize("node_version", [PVE_7, PVE_8_0], ids=str)
@pytest.mark.parametrize("text", [PLAIN, STALE], ids=["none", "stale"])
def test_before_8_1_without_them_it_is_refused_with_the_lines_of_today(
    text: str, node_version: version.Version
) -> None:
    with pytest.raises(Refused) as error:
        decided(text, node_version)
    first, *lines = str(error.value).splitlines()
    assert f"pve-container {node_version} of its node has no devN; upgrade the node to" in first
    assert "  lxc.cgroup2.devices.allow: c 511:0 rwm" in lines


def test_before_8_1_a_migration_is_not_possible_and_told() -> None:
    found = decided(WORKS, PVE_8_0, migrate=True)
    assert not found.migrate
    assert found.told[0].endswith(
        "they stay, since pve-container 5.0.5 has no devN to replace them"
    )


@pytest.mark.parametrize(
    ("node_version", "effect"),
    [(PVE_8_1, Effect.RESTART), (PVE_8_4, Effect.RESTART), (PVE_9, Effect.PLUGGED)],
    ids=str,
)
def test_since_8_1_it_is_devn_which_waits_for_a_restart_and_since_9_is_plugged(
    node_version: version.Version, effect: Effect
) -> None:
    found = decided(PLAIN, node_version)
    assert found == Passing(WANTED)
    wanted = Wanted.of({"gpus": [FIRST.uuid]})
    difference = between(wanted, found.devices, parse(PLAIN), node_version, running=True)
    assert [change.effect for change in difference.changes] == [effect] * 4
    stopped = between(wanted, found.devices, parse(PLAIN), node_version, running=False)
    assert {change.effect for change in stopped.changes} == {Effect.NOW}


def test_a_change_of_a_device_waits_for_a_restart_on_every_version() -> None:
    text = PLAIN + "dev0: /dev/nvidia0\n"
    wanted = Wanted.of({"gpus": [FIRST.uuid]})
    difference = between(wanted, WANTED, parse(text), PVE_9, running=True)
    effects = {change.key: change.effect for change in difference.changes}
    assert effects["dev0"] is Effect.RESTART
    assert effects["dev1"] is Effect.PLUGGED


def test_stale_raw_lines_are_refused_with_the_word_that_migrates_them() -> None:
    with pytest.raises(Refused) as error:
        decided(STALE, PVE_9)
    assert str(error.value) == (
        "cannot pass the GPUs to CT 200: its raw lines do not let it use /dev/nvidia-uvm, "
        "/dev/nvidia-uvm-tools (/dev/nvidia-uvm is 511:0 today, /dev/nvidia-uvm-tools is 511:1 "
        "today): lxc.cgroup2.devices.allow: c 509:0 rwm; lxc.cgroup2.devices.allow: c 509:1 rwm; "
        "say migrate_raw: True, which writes devN in their place and needs a restart"
    )
    assert decided(STALE, PVE_9, migrate=True) == Passing(
        WANTED, migrate=True, unusable=("/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
    )


def test_raw_lines_that_work_stay_unless_asked_and_no_device_is_passed_twice() -> None:
    found = decided(WORKS, PVE_9)
    assert found.devices == ()
    assert found.told[0].endswith("migrate_raw: True writes devN in their place")
    assert decided(WORKS, PVE_9, migrate=True).migrate


def test_what_the_raw_lines_lack_comes_by_devn() -> None:
    text = "".join(line for line in WORKS.splitlines(keepends=True) if "uvm-tools" not in line)
    assert [device.path for device in decided(text, PVE_9).devices] == ["/dev/nvidia-uvm-tools"]


def test_a_gpu_that_raw_lines_pass_unasked_is_told() -> None:
    second = "lxc.cgroup2.devices.allow: c 195:1 rwm\nlxc.mount.entry: /dev/nvidia1 dev/nvidia1\n"
    assert decided(WORKS + second, PVE_9).told[-1] == (
        "raw lines pass /dev/nvidia1 too, which is not asked for"
    )


def test_rules_without_mounts_are_in_nobodys_way() -> None:
    rule = "lxc.cgroup2.devices.allow: c 195:* rwm\n"
    assert decided(PLAIN + rule, PVE_9) == Passing(WANTED)


def test_a_new_container_needs_devn_for_its_gpus() -> None:
    passing.require_devices(200, WANTED, PVE_8_1)
    passing.require_devices(200, (), PVE_7)
    with pytest.raises(Refused, match=r"pve-container of its node is 5\.0\.5, and devN came with"):
        passing.require_devices(200, WANTED, PVE_8_0)


def test_a_start_brings_what_devn_and_working_raw_lines_name_where_the_node_has_it() -> None:
    raw = {device.path for device in WANTED}
    assert passing.brought(WORKS, NODE) == raw
    assert passing.brought(STALE, NODE) == {"/dev/nvidia0", "/dev/nvidiactl"}
    keyed = PLAIN + "dev0: /dev/nvidia1,mode=0666\ndev1: path=/dev/nvidia7\ndev2: /dev/dri/card0\n"
    assert passing.brought(keyed, NODE) == {"/dev/nvidia1"}
    assert passing.brought(f"{PLAIN}[before]\ndev0: /dev/nvidia1\n", NODE) == set()
