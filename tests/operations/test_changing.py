"""A change on a host of recorded facts: what is done in which order, and what is put back."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from pyinfra.api import OperationError

from stoker.facts.files import FileStates
from stoker.facts.interpreter import Interpreter
from stoker.facts.servers import Servers
from stoker.facts.startup import Answer, Startup, Tokens
from stoker.facts.switch import Switch, SwitchState
from stoker.operations import following, foreign, preflight, proving, recording, starting, switching
from stoker.operations.changing import Change, change
from stoker.serving.following import Patience
from tests.operations.hosts import FakeHost
from tests.operations.test_from_node import TENANT, container, held_by, look
from tests.operations.test_service import DEBIAN, facts, wanted
from tests.operations.test_starting import DEAD, DOWN, LOADING, READY

EIGHT = {"placement": {"layout": "one-per-gpu", "gpus": (0, 1, 2)}}
ANSWERED = Answer(1, "fire", None)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is a second later; nobody sleeps."""
    seconds = count()
    for module in (starting, following, foreign, switching):
        monkeypatch.setattr(module, "time", type("T", (), {"monotonic": lambda: next(seconds)}))
        monkeypatch.setattr(module.gevent, "sleep", lambda _: None)
    monkeypatch.setattr(proving, "prove", lambda *_: None)
    monkeypatch.setattr(recording, "record", lambda *_: None)


def answered(questions: Any) -> dict[str, Answer]:
    return {question.unit: ANSWERED for question in questions}


def host_with(**unlike: Any) -> FakeHost:
    """Three servers that run the flag set before: its port was another one."""
    before = wanted(**{**EIGHT, "port": 30100, **unlike})
    there = facts(before)
    return FakeHost({**there, Tokens: answered, Startup: Looks()})


class Looks:
    """Looks at units: one that was started is ready, one that was stopped is down.

    `fates`: unit -> what the next starts of it come to.
    """

    def __init__(self, **fates: list[Any]) -> None:
        self.fates = fates
        self.host: FakeHost | None = None

    def __call__(self, unit: str, port: int, stage: str) -> Any:
        assert self.host
        if any("' sh undo " in line for line in self.host.done):
            return READY
        verbs = [line for line in self.host.done if unit in line and "systemctl st" in line]
        if verbs and "stop" in verbs[-1]:
            return DOWN
        starts = len([line for line in verbs if "start" in line])
        fate = self.fates.get(unit.partition("@")[2][:1], [])
        return fate[starts - 1] if 0 < starts <= len(fate) else READY


def wish(**changed: Any) -> Change:
    return Change(
        wanted(**{**EIGHT, **changed}), candidate=True, patience=Patience(idle_s=50, silent_s=90)
    )


def course(host: FakeHost) -> list[str]:
    """What was done, in short: acts of the switch, and systemctl's."""
    told = []
    for line in host.done:
        act = re.search(r"' sh (begin|apply|renew|confirm|undo) ", line)
        if act:
            told.append(act[1])
        elif line.startswith("systemctl") and "reset-failed" not in line:
            told.append(re.sub(r"systemctl |--no-block |sglang|\.service", "", line))
    return told


def changed(host: FakeHost, asked: Change) -> bool:
    if isinstance(host.facts.get(Startup), Looks):
        host.facts[Startup].host = host
    return change(None, host, asked)


ONE_SWITCH = ["begin", "apply", "stop @{n}", "start @{n}", "confirm"]


def test_each_of_several_is_switched_alone_and_confirmed_before_the_next() -> None:
    host = host_with()
    assert changed(host, wish())
    assert course(host) == [act.format(n=n) for n in range(3) for act in ONE_SWITCH]


def test_the_first_failure_ends_it_its_unit_is_put_back_and_followed_to_its_token() -> None:
    host = host_with()
    host.facts[Startup] = Looks(**{"1": [DEAD]})
    assert not changed(host, wish())
    assert course(host)[5:] == ["begin", "apply", "stop @1", "start @1", "undo"]
    assert host.said[-3:] == [
        "    Load",
        "put back: sglang@1.service answers again, as before this run",
        "not touched: sglang@2.service",
    ]
    assert not [line for line in course(host) if "@2" in line]


def test_a_first_server_that_fails_is_undone_to_nothing() -> None:
    host = FakeHost({Interpreter: DEBIAN, Startup: Looks(**{"0": [DEAD]}), Tokens: answered})
    assert not changed(host, wish())
    assert course(host)[-1] == "undo"
    assert host.said[-2:] == [
        "undone: sglang@0.service was not there before this run, and is gone again",
        "not touched: sglang@1.service, sglang@2.service",
    ]


def test_what_was_put_back_and_gives_no_token_is_said_with_its_cause() -> None:
    host = host_with()
    silent = replace(LOADING, lines=("stuck",))
    host.facts[Startup] = Looks(**{"0": [DEAD]})
    told = host.facts[Startup]

    def looks(unit: str, port: int, stage: str) -> Any:
        undone = any("' sh undo " in line for line in host.done)
        return silent if undone else told(unit, port, stage)

    host.facts[Startup] = looks
    told.host = host
    assert not changed(host, wish())
    assert "sglang@0.service: put back as before this run, but not all of it serves:" in host.said


def refusing(error: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise OperationError(error)

    return refuse


def test_what_preflight_refuses_touches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "require", refusing("cannot: no such flag"))
    host = host_with()
    assert not changed(host, wish())
    assert (host.done, host.said) == ([], ["cannot: no such flag"])


def test_a_gpu_that_is_somebody_elses_touches_nothing() -> None:
    on = {"placement": {"layout": "one-per-gpu", "gpus": (1,)}}
    deployment = wanted(**on)
    host = container(look(held_by(TENANT)), facts={Interpreter: DEBIAN})
    assert not changed(host, Change(deployment, candidate=True))
    assert host.done == []
    held = "cannot start sglang@1.service: its GPUs are held outside"
    assert any(line.startswith(held) for line in host.said)


def test_a_masked_unit_touches_nothing() -> None:
    host = host_with()
    there = host.facts[Servers]["sglang@2.service"]
    host.facts[Servers]["sglang@2.service"] = replace(there, load="masked")
    assert not changed(host, wish())
    assert host.done == []
    assert "systemctl unmask --runtime sglang@2.service" in host.said[0]


def test_the_first_of_a_flag_set_is_proved_and_what_dies_of_it_is_put_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proved: list[tuple[str, bool]] = []

    def prove(host: Any, unit: Any, checked: Any, full: bool, lease: Any) -> str:
        proved.append((unit.name, full))
        return "proof"

    kept: list[Any] = []
    monkeypatch.setattr(proving, "prove", prove)
    monkeypatch.setattr(recording, "record", lambda host, unit, checked, proof: kept.append(proof))
    assert changed(host_with(), wish())
    assert (proved, kept) == ([("sglang@0.service", True)], ["proof"])
    monkeypatch.setattr(proving, "prove", refusing("the prefill burst failed"))
    host = host_with()
    assert not changed(host, wish())
    assert course(host)[-1] == "undo"
    assert (len(kept), "the prefill burst failed" in host.said) == (1, True)


def test_one_for_all_gpus_takes_the_place_of_all_or_none() -> None:
    host = host_with()
    whole = {"placement": {"layout": "tensor-parallel", "gpus": (0, 1, 2)}}
    assert changed(host, wish(**whole))
    told = course(host)
    assert told[:3] == ["begin", "apply", "stop  @0 @1 @2"]
    assert told[told.index("confirm") :] == ["confirm", "stop @0 @1 @2", "daemon-reload"]


def test_what_an_earlier_run_left_in_its_middle_is_put_back_first_and_told() -> None:
    host = host_with(port=30000)
    left = SwitchState(open=True, units=("sglang@0.service",))
    host.facts[Switch] = [left, left, SwitchState()]
    assert changed(host, wish())
    assert course(host) == ["undo"]
    assert "while it switched sglang@0.service: what was before is put back first" in host.said[0]


def test_a_switch_that_was_undone_meanwhile_is_not_taken_for_confirmed() -> None:
    host = host_with()
    run = host.run_shell_command

    def failing(command: Any, **arguments: Any) -> Any:
        done, output = run(command, **arguments)
        return done and "' sh confirm " not in command.get_raw_value(), output

    host.run_shell_command = failing  # type: ignore[method-assign]
    assert not changed(host, wish())
    assert "cannot confirm the switch: it was undone meanwhile" in "\n".join(host.said)


def test_files_are_mended_without_a_stop() -> None:
    host = host_with(port=30000)
    for path, state in host.facts[FileStates].items():
        host.facts[FileStates][path] = replace(state, mode=0o640)
    assert changed(host, wish())
    assert course(host) == ["begin", "apply", "confirm"]


def test_a_model_that_moved_leaves_no_copy_behind() -> None:
    model = {"path": "/dev/shm/m", "staged_from": "/data/m"}
    there = facts(wanted(**EIGHT, model=model))
    host = FakeHost({**there, Startup: Looks(), Tokens: answered})
    assert changed(host, wish(model={**model, "path": "/dev/shm/other"}))
    assert host.done[-1].endswith("' sh /dev/shm/m")


def test_what_nobody_wants_goes_last_with_its_model() -> None:
    model = {"path": "/dev/shm/m", "staged_from": "/data/m"}
    host = FakeHost({**facts(wanted(**EIGHT, model=model)), Startup: Looks(), Tokens: answered})
    host.facts[Startup].host = host
    assert changed(host, Change(replace(wanted(), flagsets=())))
    units = "sglang@0.service sglang@1.service sglang@2.service sglang-stage-tiny.service"
    assert host.done[0] == f"systemctl stop --no-block {units}"
    assert host.done[2].endswith("' sh /dev/shm/m")
    wants = "/etc/systemd/system/multi-user.target.wants"
    assert all(f"{wants}/{unit}" in host.done[3] for unit in units.split())
    assert host.done[4] == "systemctl daemon-reload"
