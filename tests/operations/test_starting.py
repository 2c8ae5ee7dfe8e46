from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from pyinfra.api import OperationError

from stoker.facts.deaths import UnitDeath, UnitDeaths
from stoker.facts.holders import Holder, Holders
from stoker.facts.startup import Answer, Look, Startup, Tokens
from stoker.health.crash.death import Death
from stoker.operations import following, foreign, from_node, starting
from stoker.operations.starting import Bringing
from stoker.serving.following import Patience
from tests.diagnosis.deaths import OOM
from tests.operations.hosts import FakeHost
from tests.serving.flagsets import units

DOWN = Look("inactive", "dead", False, None, 0, "success", 0, "old", 0, 0, False, "", ())
LOADING = Look("active", "running", False, 9, 0, "success", 0, "new", 9, 0, False, "c1", ("Load",))
READY = replace(LOADING, listens=True, cursor="c2", lines=("fired up",))
DEAD = replace(LOADING, active="activating", sub="auto-restart", result="exit-code", status=1)
NOHUP = Holder(
    pid=77,
    parent=1,
    ports=frozenset({30000}),
    gpus=frozenset({0}),
    words=("/root/venv/bin/python", "-m", "sglang.launch_server"),
    unit=None,
    survives_hangup=True,
)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is a second later; nobody sleeps."""
    seconds = count()
    for module in (starting, following, foreign):
        monkeypatch.setattr(module, "time", type("T", (), {"monotonic": lambda: next(seconds)}))
        monkeypatch.setattr(module.gevent, "sleep", lambda _: None)


def plan(right: frozenset[str] = frozenset(), **changed: Any) -> Bringing:
    mine = units(**changed)
    patience = Patience(idle_s=50, silent_s=90)
    return Bringing(mine, frozenset(u.name for u in mine), right, patience)


def told(host: FakeHost, act: Callable[[], None]) -> bool:
    """Whether it went well; if not the host has said why."""
    try:
        act()
    except OperationError as error:
        host.said += str(error).splitlines()
        return False
    return True


def bring_up(host: FakeHost, bringing: Bringing) -> bool:
    return told(host, lambda: starting.bring_up(host, bringing))


def answered(questions: Any) -> dict[str, Answer]:
    return {q.unit: Answer(1, "fire", None) for q in questions}


def test_a_unit_is_stopped_forgiven_started_and_followed_to_its_token() -> None:
    host = FakeHost({Startup: [DOWN, LOADING, READY], Tokens: answered})
    assert bring_up(host, plan())
    assert host.done == [
        "systemctl stop --no-block sglang.service",
        "systemctl reset-failed sglang.service",
        "systemctl start --no-block sglang.service",
    ]
    assert host.said[-1].startswith("sglang.service answered 1 token after ")


def test_a_right_process_is_left_alone_while_it_is_followed() -> None:
    host = FakeHost({Startup: [LOADING, READY], Tokens: answered})
    assert bring_up(host, plan(right=frozenset({"sglang.service"})))
    assert host.done == []


def test_a_death_ends_the_following_with_a_sentence_and_its_last_lines() -> None:
    dead = replace(DEAD, lines=("Traceback", "torch.OutOfMemoryError"))
    host = FakeHost({Startup: [DOWN, LOADING, dead]})
    assert not bring_up(host, plan())
    assert host.said == [
        "cannot serve tiny by sglang.service: its main process ended: exit-code, status 1; "
        "its last lines follow, correct the cause and run again",
        "    Traceback",
        "    torch.OutOfMemoryError",
    ]


def test_no_secret_and_nothing_that_moves_a_cursor_is_in_its_last_lines() -> None:
    dead = replace(DEAD, lines=("\x1b[31mkey sesame-42-open", "\tapi_key='hf_abcdefgh12'"))
    host = FakeHost({Startup: [DOWN, LOADING, dead]})
    wanted = plan()
    (unit,) = wanted.units
    secret = replace(unit, secrets=(("STOKER_API_KEY", "sesame-42-open"),))
    assert not bring_up(host, replace(wanted, units=(secret,)))
    assert host.said[-2:] == ["    ?[31mkey ***", "            api_key='***'"]


def known(verdict: Any, started: float | None = 100.0) -> dict[str, UnitDeath]:
    end = Death("sglang.service", "exit-code", "exited", "1", started, 200.0)
    return {"sglang.service": UnitDeath("sglang.service", end, verdict, (), ())}


def test_a_death_whose_cause_is_known_is_told_by_it_and_by_fewer_lines() -> None:
    dead = replace(DEAD, lines=tuple(f"line {n}" for n in range(30)))
    host = FakeHost({Startup: [DOWN, LOADING, dead], UnitDeaths: known(OOM)})
    assert not bring_up(host, plan())
    assert host.said[:5] == [
        "cannot serve tiny by sglang.service: a CUDA graph did not fit "
        "(its main process ended: exit-code, status 1)",
        "    line 42: torch.OutOfMemoryError: CUDA out of memory.",
        "    do: lower --mem-fraction-static",
        "    more: stoker explain gpu_oom",
        "    its last lines:",
    ]
    assert host.said[5:] == [f"      line {n}" for n in range(18, 30)]


def test_what_was_told_of_a_death_is_not_told_again_by_the_next_run() -> None:
    host = FakeHost({Startup: [DOWN, LOADING, DEAD], UnitDeaths: known(OOM)})
    assert not bring_up(host, plan())
    assert host.done[-1].endswith("sh /var/lib/stoker/deaths sglang.service new")


def test_the_node_is_asked_for_its_half_since_that_start(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr(from_node, "host_side", lambda host, since: asked.append(since))
    host = FakeHost({Startup: [DOWN, LOADING, DEAD], UnitDeaths: known(OOM)})
    assert not bring_up(host, plan())
    assert asked == [100.0 - 60]  # what broke the GPU may have come first


def test_a_hang_whose_log_shows_a_cause_is_told_by_it() -> None:
    host = FakeHost({Startup: [DOWN, LOADING], UnitDeaths: known(OOM)})
    assert not bring_up(host, plan())
    said = next(s for s in host.said if "cannot" in s)
    assert "a CUDA graph did not fit (no log line and no work for" in said


def test_a_hang_without_a_cause_is_told_with_its_last_sign_of_life() -> None:
    host = FakeHost({Startup: [DOWN, LOADING], UnitDeaths: known(replace(OOM, name="none"))})
    assert not bring_up(host, plan())
    assert "its last sign of life: Load;" in next(s for s in host.said if "cannot" in s)


def test_no_silent_minutes_a_line_every_ten_seconds_with_the_last_log_line() -> None:
    loading = [replace(LOADING, cursor=f"c{n}") for n in range(40)]
    host = FakeHost({Startup: [DOWN, *loading, READY], Tokens: answered})
    assert bring_up(host, plan())
    progress = [line for line in host.said if "s, running: Load" in line]
    assert len(progress) >= 5


def test_a_stall_is_told_as_one() -> None:
    host = FakeHost({Startup: [DOWN, LOADING]})
    assert not bring_up(host, plan())
    assert "no log line and no work for" in next(s for s in host.said if "cannot" in s)


def test_an_answer_of_a_process_that_is_gone_does_not_count() -> None:
    other = replace(READY, main_pid=10)
    host = FakeHost(
        {Startup: [DOWN, READY, other, replace(DEAD, lines=("gone",))], Tokens: answered}
    )
    assert not bring_up(host, plan())


def test_one_of_a_flag_set_serves_before_its_sisters_are_stopped() -> None:
    eight = {"placement": {"layout": "one-per-gpu", "gpus": (0, 1, 2)}}
    looks = [DOWN, READY, READY, DOWN, DOWN, READY]
    host = FakeHost({Startup: looks, Tokens: answered})
    assert bring_up(host, plan(**eight))
    assert [line for line in host.done if "reset" not in line] == [
        "systemctl stop --no-block sglang@0.service",
        "systemctl start --no-block sglang@0.service",
        "systemctl stop --no-block sglang@1.service sglang@2.service",
        "systemctl start --no-block sglang@1.service sglang@2.service",
    ]


def test_sisters_keep_running_when_the_first_one_fails() -> None:
    eight = {"placement": {"layout": "one-per-gpu", "gpus": (0, 1)}}
    host = FakeHost({Startup: [DOWN, DEAD]})
    assert not bring_up(host, plan(**eight))
    assert not [line for line in host.done if "sglang@1" in line]


def cleared(host: FakeHost, mine: Any, stop_foreign: bool = False) -> bool:
    return told(host, lambda: foreign.clear_the_way(host, mine, (), stop_foreign))


def test_a_server_started_by_hand_is_named_and_nothing_is_touched() -> None:
    host = FakeHost({Holders: [[NOHUP]]})
    assert not cleared(host, units())
    assert host.done == []
    assert host.said == [
        "cannot start sglang.service: others are in the way; "
        "stop it, or set stop_foreign = True for this host:",
        "    port 30000: process 77 (started by hand with nohup): "
        "/root/venv/bin/python -m sglang.launch_server",
    ]


def test_it_is_ended_when_told_to_workers_by_their_parent() -> None:
    worker = replace(NOHUP, pid=78, parent=77, ports=frozenset(), words=("sglang::scheduler",))
    gpu = {"placement": {"layout": "tensor-parallel", "gpus": (0,)}}
    holders = [[NOHUP, worker], [NOHUP, worker], []]
    host = FakeHost({Holders: holders})
    assert cleared(host, units(**gpu), stop_foreign=True)
    assert [line for line in host.done if "kill" in line] == ["kill -TERM 77"]


def test_what_ignores_term_is_killed() -> None:
    host = FakeHost({Holders: [[NOHUP]] * 90 + [[]]})
    assert cleared(host, units(), stop_foreign=True)
    assert [line for line in host.done if "kill" in line] == ["kill -TERM 77", "kill -KILL 77"]


def test_a_gpu_holder_that_is_no_server_is_never_ended() -> None:
    gpu = {"placement": {"layout": "tensor-parallel", "gpus": (0,)}}
    for ports in ((), (29500,), (30000,)):  # torchrun's, and even ours
        training = replace(NOHUP, ports=frozenset(ports), words=("python", "train.py"))
        host = FakeHost({Holders: [[training]]})
        assert not cleared(host, units(**gpu), stop_foreign=True)
        assert host.done == []
        assert "end it yourself: it is no server" in host.said[0]


@pytest.mark.parametrize(
    ("unit", "main", "done"),
    [
        ("old-sglang.service", "77", "systemctl stop --no-block -- old-sglang.service"),
        ("ssh.service", "12", "kill -TERM 77"),
    ],
)
def test_a_service_is_stopped_only_where_it_is_the_servers_own(
    unit: str, main: str, done: str
) -> None:
    holders = [[replace(NOHUP, unit=unit)]] * 2 + [[]]
    host = FakeHost({Holders: holders})
    host.stdout = main
    assert cleared(host, units(), stop_foreign=True)
    assert host.done[1] == done


def test_another_units_port_and_gpu_are_not_in_the_way() -> None:
    elsewhere = replace(NOHUP, ports=frozenset({8000}), gpus=frozenset({5}))
    ours = replace(NOHUP, unit="sglang.service")
    assert foreign.in_the_way([elsewhere, ours], units()) == []


def test_a_unit_that_does_not_stop_is_told_and_not_waited_for_for_ever() -> None:
    host = FakeHost({Startup: replace(LOADING, active="deactivating")})
    assert not told(host, lambda: starting.take_down(host, ("sglang.service",)))
    assert "still there after 600 s; recover the container from its node" in host.said[-1]


def test_our_other_servers_are_not_in_the_way_of_each_other() -> None:
    """The driver may open the nodes of every GPU in every process that uses one."""
    sister = replace(NOHUP, unit="sglang@7.service", ports=frozenset(), gpus=frozenset({0, 7}))
    gpu = units(placement={"layout": "one-per-gpu", "gpus": (0,)})
    assert foreign.in_the_way([sister], gpu) == [sister]
    assert foreign.in_the_way([sister], gpu, {"sglang@7.service"}) == []
