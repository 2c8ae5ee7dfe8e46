"""The data `driver` and `node_settings`: wrong ones are told together, before anything is done."""

import pytest

from stoker.container import asked
from stoker.refused import Refused


def test_nothing_said_is_the_defaults_which_change_no_setting() -> None:
    asked.check({"pve1": {}, "gpu-a": {"driver": None}})
    assert asked.driver(None) == asked.Driver(source=None, replace=False, hold=False)
    said = asked.node_settings(None).model_dump()
    assert said.pop("gpu_nodes") is True
    assert not any(said.values())


def test_all_problems_of_all_hosts_are_told_at_once() -> None:
    hosts = {
        "pve1": {"node_settings": {"power_limit_w": "300", "kernel_command_line": ["a; reboot"]}},
        "gpu-a": {"driver": {"replaces": True}},
    }
    with pytest.raises(Refused) as told:
        asked.check(hosts)
    lines = str(told.value).splitlines()
    assert lines[0] == "cannot use the inventory; correct this host data:"
    assert lines[1:] == [
        "pve1: node_settings.power_limit_w: '300' is no whole number",
        "pve1: node_settings.power_limit_w: '300' is no dictionary",
        "pve1: node_settings.kernel_command_line.0: 'a; reboot' is not one word of a kernel's "
        "command line",
        "gpu-a: driver.replaces: is no key of ours; is replace meant?",
    ]


def test_a_power_limit_is_one_for_all_or_one_for_each() -> None:
    assert asked.node_settings({"power_limit_w": 450}).power_limit_w == 450
    assert asked.node_settings({"power_limit_w": {"GPU-1": 450}}).power_limit_w == {"GPU-1": 450}
