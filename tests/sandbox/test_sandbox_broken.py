"""Every stuck state on a real instance where nothing is deployed, and that each is healed.

The neighbour's server answers all along, and `down` works from the worst of them.
"""

import http.client
import os
import time
from collections.abc import Iterator

import pytest

from stoker.sandbox import lifecycle, lxc_node, places, stuck
from stoker.sandbox import state as states
from stoker.sandbox.lifecycle import Size
from stoker.sandbox.state import State
from stoker.sandbox.stuck import container, processes, started
from tests.sandbox.site import mounted, pct_costs_nothing

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox needs root"),
]
NAME = "test-break"
# These start the SGLang that was deployed, so they need one: tests/sandbox/test_main_job.py.
DEPLOYED = {"orphans", "started-by-hand"}
HOLDING = [
    "eight-orphans",
    "term-ignorer",
    "respawner",
    "zombie-leader",
    "mapped-only",
    "forked-child",
    "fork-bomb",
    "frozen-disk",
    "neighbour-holds",
    "host-holds",
]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[State]:
    _gone()
    try:
        made = lifecycle.up(NAME, Size(gpus=3, neighbours=1))
        pct_costs_nothing(NAME)
        yield made
    finally:
        _gone()


def _gone() -> None:
    if states.exists(NAME):
        lifecycle.down(NAME)


def on_node(state: State, *words: str) -> str:
    return lxc_node.attach(state, state.nodes[0], list(words))


def used(state: State) -> list[int]:
    fields = ("--query-gpu=memory.used", "--format=csv,noheader,nounits")
    return [int(line) for line in on_node(state, "nvidia-smi", *fields).split()]


def neighbour_answers(state: State) -> bool:
    connection = http.client.HTTPConnection(state.neighbours[0].address, 8000, timeout=5)
    connection.request("POST", "/v1/chat/completions", b'{"messages": []}')
    return b"still here" in connection.getresponse().read()


def settled(state: State) -> list[int]:
    """Memory by GPU once the neighbour's server holds its own, as after its restart."""
    until = time.monotonic() + 10
    while used(state)[2] != 20482 and time.monotonic() < until:
        time.sleep(0.2)
    return used(state)


def test_a_neighbour_holds_its_own_gpu_and_answers(sandbox: State) -> None:
    assert settled(sandbox) == [2, 2, 20482]
    assert neighbour_answers(sandbox)
    listed = on_node(sandbox, "pct", "exec", "250", "--", "sh", "-c", "ls /dev | grep nvidia")
    assert "nvidia2" in listed.split() and "nvidia0" not in listed.split()


def test_every_scenario_that_starts_processes_is_tried_here() -> None:
    assert set(HOLDING) | DEPLOYED == set(stuck.PLAYED)


@pytest.mark.parametrize("name", HOLDING)
def test_a_stuck_state_comes_about_and_is_healed(sandbox: State, name: str) -> None:
    told = stuck.inject(sandbox, name)
    assert told.startswith(f"{name}: ") and "expect" in told
    assert used(sandbox)[0] >= 20482
    if name == "eight-orphans":
        assert used(sandbox)[1] == 20482
    assert neighbour_answers(sandbox)
    one = started.load(sandbox)[0]
    assert one.processes
    stuck.heal(sandbox)
    assert processes.found(container.of(sandbox), one) == []
    assert settled(sandbox) == [2, 2, 20482]
    assert started.load(sandbox) == []
    assert neighbour_answers(sandbox)
    assert mounted(NAME) == []


def test_a_process_on_a_frozen_disk_is_not_ended_by_kill(sandbox: State) -> None:
    stuck.inject(sandbox, "frozen-disk")
    target = container.of(sandbox)
    one = started.load(sandbox)[0]
    writer = next(found for found in processes.found(target, one) if found.nodes)
    processes.kill(target, writer.identity)
    time.sleep(0.5)
    assert [left.state for left in processes.found(target, one) if left.nodes] == ["D"]
    stuck.heal(sandbox)


def test_memory_comes_back_late_without_anybody_asking(sandbox: State) -> None:
    stuck.inject(sandbox, "late-release")
    assert used(sandbox)[0] == 91002
    stuck.heal(sandbox)


def test_modprobe_reloads_uvm_only_when_its_holder_is_gone(sandbox: State) -> None:
    node = sandbox.nodes[0]
    refused = lxc_node.attach(
        sandbox, node, ["sh", "-c", "modprobe -r nvidia_uvm 2>&1; true"], check=False
    )
    assert refused == "modprobe: FATAL: Module nvidia_uvm is in use.\n"
    before = on_node(sandbox, "stat", "-c", "%t", "/dev/nvidia-uvm")
    on_node(sandbox, "pct", "stop", "250")
    on_node(sandbox, "modprobe", "-r", "nvidia_uvm")
    on_node(sandbox, "modprobe", "nvidia_uvm")
    assert on_node(sandbox, "stat", "-c", "%t", "/dev/nvidia-uvm") != before
    on_node(sandbox, "pct", "start", "250")


def test_an_instance_with_a_process_in_state_d_is_taken_down(sandbox: State) -> None:
    stuck.inject(sandbox, "frozen-disk")
    lifecycle.down(NAME)
    assert not places.instance(NAME).exists()
    assert mounted(NAME) == []
