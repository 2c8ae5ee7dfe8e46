"""Who holds a container's GPUs from outside, as its node tells the deploy."""

import json
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

import pytest
from pyinfra.api import OperationError

from stoker.facts.gpu_node import seen
from stoker.facts.startup import Startup
from stoker.health.seen import Holder, Owner, Seen
from stoker.operations import from_node, starting
from stoker.pct.errors import PctError
from stoker.serving.unit import Unit
from tests.facts.test_gpu_node import looked
from tests.facts.test_host_side import SIDE
from tests.operations.hosts import FakeHost
from tests.operations.test_starting import DEAD, DOWN
from tests.serving.flagsets import units

TENANT = Owner("ct", 250, "tenant.service", "/lxc/250/ns/system.slice/tenant.service")
HOST = Owner("host", None, "", "/user.slice")


@pytest.fixture(autouse=True)
def _no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_node.gevent, "sleep", lambda _: None)


def held_by(owner: Owner, *gpus: str, **changed: Any) -> Holder:
    there = seen(looked())
    assert there
    fields = {"owner": owner, "gpus": gpus or ("GPU-bb",), "pid": 4711, **changed}
    return replace(there.holders[0], **fields)


def look(*holders: Holder) -> Seen:
    there = seen(looked())
    assert there
    return replace(there, holders=holders)


class Node:
    """An agent whose looks come in turn; the last one stays."""

    def __init__(self, *looks: Seen | str) -> None:
        self.looks = list(looks)
        self.asked: list[str] = []

    def run(self, command: str, timeout: float) -> Any:
        self.asked.append(command)
        answer = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(answer, str):
            return SimpleNamespace(code=1, stdout=b"", stderr=answer.encode())
        return SimpleNamespace(code=0, stdout=json.dumps(asdict(answer)).encode(), stderr=b"")


def container(*looks: Seen | str, facts: Any = None) -> FakeHost:
    host = FakeHost(facts or {})
    host.connector = SimpleNamespace(vmid=200, node=Node(*looks))  # type: ignore[attr-defined]
    return host


def on(*gpus: int) -> tuple[Unit, ...]:
    return units(placement={"layout": "tensor-parallel", "gpus": gpus})


def refusal(host: FakeHost, wanted: tuple[Unit, ...]) -> str:
    with pytest.raises(OperationError) as error:
        from_node.require_free(host, wanted)
    return str(error.value)


def test_a_gpu_of_another_container_is_refused_with_owner_process_and_since() -> None:
    host = container(look(held_by(TENANT)))
    assert refusal(host, on(1)).splitlines() == [
        "cannot start sglang.service: its GPUs are held outside this container, as its node sees "
        "it; end that there, nothing was touched:",
        "    GPU 1: CT 250 tenant.service, process 4711 on the node, since 2026-09-21 11:26:40 "
        "UTC: python -m sglang.launch_server --api-key ***",
    ]


def test_a_gpu_that_the_units_do_not_want_is_nobodys_business() -> None:
    from_node.require_free(container(look(held_by(TENANT))), on(0))


def test_holders_inside_are_left_to_the_look_from_inside() -> None:
    from_node.require_free(container(look(held_by(Owner("ct", 200, "", "/lxc/200")))), on(0, 1))


def test_who_computes_on_the_node_itself_is_refused_and_a_monitor_is_not() -> None:
    assert "GPU 1: host, process 4711" in refusal(container(look(held_by(HOST))), on(1))
    monitor = held_by(HOST, devices=("nvidia1", "nvidiactl"))
    from_node.require_free(container(look(monitor)), on(1))


def test_what_passes_by_is_not_refused() -> None:
    from_node.require_free(container(look(held_by(TENANT)), look()), on(1))


def test_a_control_node_alone_is_no_gpu() -> None:
    from_node.require_free(container(look(replace(held_by(TENANT), gpus=()))), on(1))


def test_without_gpus_or_without_a_node_nobody_is_asked() -> None:
    host = container(look(held_by(TENANT)))
    from_node.require_free(host, units())
    from_node.require_free(host, ())
    assert host.connector.node.asked == []  # type: ignore[attr-defined]
    from_node.require_free(FakeHost({}), on(1))


def test_a_node_that_cannot_say_is_a_warning_and_the_servers_wait_themselves() -> None:
    host = container("Traceback\nImportError: no lzma")
    from_node.require_free(host, on(1))
    assert host.said == [
        "the node of CT 200 cannot say who holds its GPUs: ImportError: no lzma; see stoker gpus, "
        "each server waits for its GPUs by itself too"
    ]


def plan(wanted: tuple[Unit, ...]) -> starting.Bringing:
    return starting.Bringing(wanted, frozenset(unit.name for unit in wanted))


def test_after_a_wait_in_vain_the_node_says_who(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting.gevent, "sleep", lambda _: None)
    waited = replace(
        DEAD, began=False, lines=("cannot start: GPU 1 uses 88210 MiB (free: at most 1024)",)
    )
    facts = {Startup: [DOWN, waited]}
    host = container(look(held_by(Owner("ct", 200, "", "/lxc/200/ns/.lxc"))), facts=facts)
    with pytest.raises(OperationError) as died:
        starting.bring_up(host, plan(on(1)))
    assert str(died.value).splitlines()[-3:] == [
        "cannot serve tiny by sglang.service: it was not started: GPU 1 uses 88210 MiB (free: at "
        "most 1024); its last lines follow, correct the cause and run again",
        "    cannot start: GPU 1 uses 88210 MiB (free: at most 1024)",
        "GPU 1: CT 200, process 4711 on the node, since 2026-09-21 11:26:40 UTC: python -m "
        "sglang.launch_server --api-key ***",
    ]


def test_memory_without_a_holder_is_sent_to_recovery(monkeypatch: pytest.MonkeyPatch) -> None:
    assert from_node.told(container(look()), on(1)[0]) == [
        "on its node nobody is seen to hold it: see what recovery says of CT 200, pyinfra --dry "
        "INVENTORY recover.py"
    ]


class Telling:
    """An agent that says this to whatever it is asked."""

    def __init__(self, code: int, stdout: str = "", stderr: str = "") -> None:
        self.said = SimpleNamespace(code=code, stdout=stdout.encode(), stderr=stderr.encode())
        self.asked: list[str] = []

    def run(self, command: str, timeout: float) -> Any:
        self.asked.append(command)
        return self.said


def asked(node: Any) -> FakeHost:
    host = FakeHost({})
    host.connector = SimpleNamespace(vmid=200, node=node)  # type: ignore[attr-defined]
    return host


def test_the_nodes_half_of_a_death_is_asked_for_its_own_container() -> None:
    node = Telling(0, json.dumps(asdict(SIDE)))
    assert from_node.host_side(asked(node), 1796000000.0) == SIDE
    assert node.asked[0].endswith(" evidence 200 --since 1796000000")


def test_a_node_that_cannot_say_what_it_saw_is_a_warning_and_no_failure() -> None:
    class Gone:
        def run(self, command: str, timeout: float) -> Any:
            raise PctError("pve1 does not answer")

    for node, why in (
        (Telling(1, "", "a\nImportError: lzma"), "ImportError: lzma"),
        (Gone(), "pve1"),
    ):
        host = asked(node)
        assert from_node.host_side(host, 1796000000.0) is None
        assert host.said[0].startswith(f"the node of CT 200 cannot say what it saw: {why}")


def test_a_container_without_a_node_has_no_half_of_one() -> None:
    assert from_node.host_side(FakeHost({}), 1796000000.0) is None
