"""Where a sandbox is refused, and with which sentence."""

from dataclasses import replace

import pytest

from stoker.refused import Refused
from stoker.sandbox import commands, guest, lifecycle, machine, places
from stoker.sandbox.lifecycle import Size
from stoker.sandbox.machine import Machine

FIT = Machine(
    is_proxmox=False,
    has_nvidia=False,
    capabilities=(1 << 41) - 1,
    free_gib=100.0,
    missing_packages=(),
)


def test_a_fit_machine_is_not_refused() -> None:
    machine.refuse_production(FIT)
    machine.refuse_unfit(FIT, 25)


def test_a_proxmox_node_is_refused() -> None:
    with pytest.raises(Refused, match=r"^cannot build a sandbox here: /etc/pve exists"):
        machine.refuse_production(replace(FIT, is_proxmox=True))


def test_a_machine_with_a_loaded_nvidia_module_is_refused() -> None:
    with pytest.raises(Refused, match="the module nvidia is loaded"):
        machine.refuse_production(replace(FIT, has_nvidia=True))


def test_everything_that_is_missing_is_in_one_sentence() -> None:
    poor = replace(FIT, capabilities=0, free_gib=3.0)
    with pytest.raises(Refused) as refused:
        machine.refuse_unfit(poor, 25)
    sentence = str(refused.value)
    assert "cap_net_admin" in sentence and "22 GiB of free disk" in sentence
    assert "\n" not in sentence and sentence.count(";") == 1


@pytest.mark.parametrize("name", ["", "Demo", "a_b", "x" * 12, "cache", "../x", "1a"])
def test_a_name_that_cannot_name_a_bridge_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="choose another --name"):
        places.checked_name(name)


def test_vmids_and_addresses_do_not_meet_across_nodes() -> None:
    state = lifecycle.plan("test-x", Size(nodes=2, containers=3), "198.51.100.0/27")
    assert [node.name for node in state.nodes] == ["pve1", "pve2"]
    assert [c.vmid for c in state.containers] == [200, 201, 202, 300, 301, 302]
    assert len({c.address for c in state.containers}) == 6
    assert state.bridge == "stk-test-x"


def test_the_size_of_an_instance_can_be_read_back_from_it() -> None:
    size = Size(nodes=2, containers=3, gpus=4, template="debian-13")
    assert lifecycle.size_of(lifecycle.plan("test-x", size, "198.51.100.0/27")) == size


def test_a_neighbour_has_a_vmid_and_a_gpu_of_its_own() -> None:
    state = lifecycle.plan("test-x", Size(containers=2, neighbours=1), "198.51.100.0/27")
    neighbour = state.neighbours[0]
    assert (neighbour.node, neighbour.vmid, state.minors(neighbour)) == ("pve1", 250, [7])
    assert state.minors(state.containers[0]) == [0, 1, 2, 3, 4, 5, 6]
    assert len({c.address for c in state.guests(state.nodes[0])}) == 3
    options = guest.options(state, neighbour)
    assert next(word for word in options if "/dev/nvidia" in word) == "/dev/nvidia7,mode=0666"
    assert "neighbour" in options
    assert lifecycle.size_of(state) == Size(containers=2, neighbours=1)


def test_a_neighbour_needs_a_gpu() -> None:
    with pytest.raises(Refused, match="cannot build 1 neighbours: between 0 and 0 fit"):
        lifecycle.checked(Size(gpus=0, neighbours=1))


def test_every_size_that_does_not_fit_is_named_at_once() -> None:
    with pytest.raises(Refused) as refused:
        lifecycle.checked(Size(nodes=9, containers=50, gpus=99))
    assert [line.split()[2:4] for line in str(refused.value).splitlines()] == [
        ["9", "nodes:"],
        ["99", "gpus:"],
        ["50", "containers:"],
    ]


def test_a_command_that_failed_is_told_by_its_first_error_and_its_last_lines() -> None:
    script = "printf '%s\\n' 'a.c:1: fatal error: stdio.h: none' 1 2 3 stopped >&2; exit 1"
    with pytest.raises(Refused, match=r"exit status 1, a\.c:1: fatal error: stdio\.h: none / 2 / "):
        commands.run(["sh", "-c", script])
