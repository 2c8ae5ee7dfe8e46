from collections.abc import Iterator
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest
from pyinfra.context import ctx_state

from stoker.container.opened import Opened
from stoker.container.version import Version
from stoker.container.wanted import Wanted
from stoker.facts import proxmox_node
from stoker.facts.opened_nodes import OpenedNodes
from stoker.facts.proxmox_node import NodeLook
from stoker.operations import gpus, in_vain
from stoker.operations.container import restarting
from stoker.operations.container.node import Way
from stoker.proxmox.access import Access
from tests.container.cards import CARDS, FIRST, MAJORS, NUMBERS
from tests.operations.hosts import FakeHost, here, words

CONFIG = "unprivileged: 1\ndev0: /dev/nvidia0\ndev1: /dev/nvidia-uvm\n"
LOOK = NodeLook(
    "pve1", Version((6, 1, 10)), cards=CARDS, numbers=NUMBERS, majors=MAJORS, texts={200: CONFIG}
)
GOOD = Opened("/dev/nvidia0", "device", (195, 0), "666 root:root")
STALE = Opened("/dev/nvidia-uvm", "device", (508, 0), "666 root:root")
DENIED = Opened("/dev/nvidia0", "device", (195, 0), "660 root:root", user="Permission denied")


NOTES: set[int] = set()
"""Containers whose restart was in vain."""


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A run under way on a container of a node with two GPUs; what is done to the container."""
    calls: list[str] = []
    connector = SimpleNamespace(vmid=200, node=None, hold=lambda: None)
    monkeypatch.setattr(proxmox_node, "look", lambda *_: LOOK)
    monkeypatch.setattr(FakeHost, "connector", connector, raising=False)
    monkeypatch.setattr(FakeHost, "name", "gpu-a", raising=False)
    monkeypatch.setattr(Way, "backend", lambda self: None)
    NOTES.clear()
    monkeypatch.setattr(in_vain, "known", lambda run, vmid: vmid in NOTES)
    monkeypatch.setattr(in_vain, "noted", lambda run, vmid: NOTES.add(vmid))
    for verb in ("stop", "start", "start_again"):
        monkeypatch.setattr(restarting, verb, lambda *_, verb=verb: calls.append(verb))
    with ctx_state.use(SimpleNamespace(is_executing=True)):  # type: ignore[arg-type]
        yield calls


def opened(*looks: Opened, **container: Any) -> tuple[FakeHost, list[Any]]:
    """The host and the commands, where each look at the nodes sees one of these, the last stays."""
    wanted = Wanted.of({"gpus": [FIRST.uuid], **container})
    with here({OpenedNodes: [[asdict(one)] for one in looks] or [[]]}) as host:
        return host, list(gpus.usable._inner(wanted, "sglang", Access.of({})))


def carried_out(host: FakeHost, command: Any) -> bool:
    return bool(command.function(None, host, *command.args))


@pytest.mark.usefixtures("done")
def test_nodes_that_open_are_no_change() -> None:
    host, commands = opened(GOOD)
    assert (commands, host.noops) == ([], ["sglang can open 1 device nodes"])


@pytest.mark.usefixtures("done")
def test_a_node_that_does_not_open_fails_the_host_with_its_sentence() -> None:
    (told,) = words(opened(Opened("/dev/nvidia0", "file"))[1])
    assert "cannot use /dev/nvidia0 in CT 200: a regular file is in place of the device" in told


@pytest.mark.usefixtures("done")
def test_a_gpu_that_is_not_there_fails_the_host() -> None:
    (told,) = words(opened(GOOD, gpus=["0000:99:00.0"])[1])
    assert "cannot pass GPU 0000:99:00.0: the node has" in told


@pytest.mark.usefixtures("done")
def test_no_answer_is_not_taken_for_a_good_one() -> None:
    assert "cannot tell whether the GPUs of gpu-a work" in words(opened()[1])[0]


@pytest.mark.usefixtures("done")
@pytest.mark.parametrize("container", [{"gpus": []}, {"started": False}])
def test_nothing_is_opened_where_nothing_is_passed_or_runs(container: dict[str, Any]) -> None:
    assert opened(**container)[1] == []


def test_nothing_is_opened_before_the_run_is_under_way() -> None:
    with ctx_state.use(SimpleNamespace(is_executing=False)):  # type: ignore[arg-type]
        assert opened()[1] == []


def test_a_stale_number_restarts_a_container_that_may_be_restarted(done: list[str]) -> None:
    host, (command,) = opened(STALE, STALE, GOOD, allow_restart=True)
    assert carried_out(host, command)
    assert done == ["stop", "start"]
    assert host.said == ["CT 200 is restarted for /dev/nvidia-uvm"]
    assert set() == NOTES


def test_one_that_somebody_restarted_meanwhile_is_left_alone(done: list[str]) -> None:
    host, (command,) = opened(STALE, GOOD, allow_restart=True)
    assert (carried_out(host, command), done) == (True, [])


def test_what_a_restart_does_not_bring_right_is_told_without_one(done: list[str]) -> None:
    (told,) = words(opened(DENIED, allow_restart=True)[1])
    assert "the user sglang may not open it" in told
    assert done == []


def test_a_restart_that_did_not_help_is_told(done: list[str]) -> None:
    host, (command,) = opened(STALE, allow_restart=True)
    assert not carried_out(host, command)
    assert done == ["stop", "start"]
    assert "the number of an earlier load of the driver" in host.said[-2]
    assert host.said[-1] == "CT 200 was restarted for that, which did not help"


@pytest.mark.parametrize("one", [STALE, Opened(STALE.path), Opened(STALE.path, "file")])
def test_one_that_was_restarted_in_vain_is_not_restarted_again(
    one: Opened, done: list[str]
) -> None:
    host, (command,) = opened(one, allow_restart=True)
    assert not carried_out(host, command)
    assert done == ["stop", "start"]
    (told,) = words(opened(one, allow_restart=True)[1])
    assert "a restart does not bring it as things are" in told
    assert done == ["stop", "start"]


def test_what_its_configuration_does_not_pass_is_no_reason_for_a_restart(done: list[str]) -> None:
    (told,) = words(opened(Opened("/dev/nvidia-uvm-tools"), allow_restart=True)[1])
    assert "it is not there; a restart does not bring it as things are" in told
    assert done == []


def test_a_container_whose_stop_fails_runs_afterwards(
    done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError("cannot shut down CT 200: it does not end")

    monkeypatch.setattr(restarting, "stop", fails)
    host, (command,) = opened(STALE, allow_restart=True)
    assert not carried_out(host, command)
    assert (done, host.said[-1]) == (["start_again"], "cannot shut down CT 200: it does not end")
