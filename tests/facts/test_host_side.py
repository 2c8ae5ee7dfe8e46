"""The node's half of a death, as a fact."""

import json
from dataclasses import asdict

from stoker.facts.host_side import HostSides, read
from stoker.health.crash.death import HostSide
from stoker.health.kernel_log import Message

SIDE = HostSide(
    node="pve1",
    vmid=200,
    since=1796000000.0,
    kernel=(Message(1796000200.5, "NVRM: Xid (PCI:0000:21:00): 79, GPU has fallen off the bus."),),
    oom_kills=0,
    memory_limit_bytes=34359738368,
    bdfs=("0000:21:00.0",),
    pids={4711: 31},
    unseen=("nvidia-smi: no driver is loaded",),
)


def test_the_type_comes_back_whole_with_its_numbers_as_numbers() -> None:
    said = json.dumps(asdict(SIDE))
    assert read(said) == SIDE
    assert HostSides().process(said.splitlines()) == asdict(SIDE)


def test_a_node_that_says_nothing_or_nonsense_gives_none() -> None:
    for said in ("", "Traceback", "[]", '{"node": "pve1"}'):
        assert read(said) is None


def test_it_is_asked_within_a_bound_and_since_the_whole_second_before() -> None:
    command = HostSides().command(vmid=200, since=1796000000.75).get_raw_value()
    assert command.startswith("timeout --kill-after=5 90 /usr/bin/python3 -I -S -c ")
    assert command.endswith(" evidence 200 --since 1796000000 || true")
