from dataclasses import replace
from typing import Any

import pytest

from stoker.cli.gpus import rows_of
from stoker.facts.gpu_node import seen
from stoker.health.seen import Owner, Seen, Stuck
from tests.facts.test_gpu_node import looked


@pytest.fixture
def look() -> Seen:
    there = seen(looked())
    assert there
    return there


def first(look: Seen, **changed: Any) -> Seen:
    """The look with its first GPU changed."""
    return replace(look, gpus=(replace(look.gpus[0], **changed), *look.gpus[1:]))


def holder(look: Seen, **changed: Any) -> Seen:
    return replace(look, holders=(replace(look.holders[0], **changed),))


def test_a_row_tells_gpu_memory_who_since_when_container_and_state(look: Seen) -> None:
    held, free = rows_of("pve1", look)
    assert (held.gpu, held.used_mib, held.pid, held.who) == ("0", 88210, 41234, "python")
    assert (held.since, held.container) == ("2026-09-21T11:26:40+00:00", "200 gpu-a")
    assert (held.unit, held.state) == ("", "held")
    assert (free.gpu, free.pid, free.state) == ("1", None, "free")


@pytest.mark.parametrize(
    ("kind", "vmid", "shown"), [("vm", 101, "VM 101"), ("host", None, "host"), ("ct", 9, "9")]
)
def test_owners_of_every_kind_are_named(
    look: Seen, kind: str, vmid: int | None, shown: str
) -> None:
    row, *_ = rows_of("pve1", holder(look, owner=Owner(kind, vmid, "", "/")))
    assert row.container == shown


def test_who_has_only_a_control_node_open_may_hold_any_gpu_it_can_reach(look: Seen) -> None:
    rows = rows_of("pve1", holder(look, gpus=(), devices=("nvidiactl",)))
    assert [row.container for row in rows] == ["200 gpu-a, may hold it"] * 2


def test_a_stuck_holder_and_memory_without_a_holder_show_as_such(look: Seen) -> None:
    (row, _) = rows_of("pve1", holder(look, stuck=Stuck("unkillable", "nvidia", "os_delay")))
    assert row.state == "unkillable"
    (row, _) = rows_of("pve1", replace(look, holders=()))
    assert row.state == "above its baseline"
    (row, _) = rows_of("pve1", replace(first(look, used_mib=None), holders=()))
    assert row.state == "unknown"


@pytest.mark.parametrize(
    ("changed", "state"),
    [
        ({"off_bus": True}, "off the bus"),
        ({"error": "GPU is lost"}, "GPU is lost"),
        ({"recovery_action": "Reset"}, "wants: Reset"),
        ({"binding": "vfio-pci"}, "vfio-pci"),
    ],
)
def test_what_the_gpu_itself_reports_comes_before_who_holds_it(
    look: Seen, changed: dict[str, Any], state: str
) -> None:
    assert rows_of("pve1", first(look, **changed))[0].state == state


def test_a_node_that_could_not_be_looked_at_is_unknown_and_not_without_gpus() -> None:
    (row,) = rows_of("pve1", None)
    assert row.state == "unknown"
