"""What `break` knows without a node: names, a unit's command, its record, its holder program."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker.refused import Refused
from stoker.sandbox import breakage, lifecycle, places, stuck
from stoker.sandbox.lifecycle import Size
from stoker.sandbox.node import marked
from stoker.sandbox.state import State
from stoker.sandbox.stuck import container, started
from stoker.sandbox.stuck.holder import SOURCE
from stoker.sandbox.stuck.started import Started


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> State:
    monkeypatch.setattr(places, "ROOT", tmp_path)
    planned = lifecycle.plan("test-x", Size(), "198.51.100.0/27")
    planned.save()
    return planned


def test_every_failure_of_the_driver_is_a_scenario_beside_the_stuck_processes() -> None:
    assert set(breakage.SCENARIOS) < set(stuck.SCENARIOS)
    for name in ("orphans", "eight-orphans", "frozen-disk", "neighbour-holds"):
        assert name in stuck.SCENARIOS


def test_an_unknown_scenario_is_refused_with_where_the_names_are(state: State) -> None:
    with pytest.raises(Refused, match=r"no such scenario; `python .* break --list` names them$"):
        stuck.inject(state, "nosuch")


def test_a_servers_command_is_read_from_its_unit() -> None:
    told = container.command(
        '# ExecStart=/not/this\n[Service]\nExecStart=/opt/python -m x --port 30000 "a b"\n'
        "User=sglang\nEnvironmentFile=/etc/stoker/sglang@0.env\n"
        'Environment="HOME=/var/cache/x y"\nEnvironment=A=1 B=2\nWorkingDirectory=/var/cache/x\n'
    )
    assert told.words == ["/opt/python", "-m", "x", "--port", "30000", "a b"]
    assert told.environment == ["HOME=/var/cache/x y", "A=1", "B=2"]
    assert (told.port, told.user, told.directory) == (30000, "sglang", "/var/cache/x")


def test_what_was_started_is_remembered_until_it_is_healed(state: State) -> None:
    one = Started("pve1", "mark", processes=((7, 8),), device=(250, "dev9"), files=("/tmp/x",))
    started.save(state, one)
    changed = started.changed(state, one, sessions=((9, 10),))
    assert started.load(state) == [changed]
    started.forget(state, changed)
    assert started.load(state) == []
    assert not (state.directory / "stuck.json").exists()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("holder") / "holder"
    words = ["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", str(made), str(SOURCE)]
    subprocess.run(words, check=True)
    return made


MARK = f"test-{os.getpid()}"
BEGUN: list["subprocess.Popen[bytes]"] = []


@pytest.fixture(autouse=True)
def _nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(marked, "_node_names", lambda: {(1, 7): "nvidia0", (1, 5): "nvidiactl"})
    yield
    assert marked.end(MARK, [], []) == []
    while BEGUN:
        BEGUN.pop().wait()


def begin(program: Path, mode: str, *nodes: str) -> "subprocess.Popen[bytes]":
    environment = {marked.NAME: MARK}
    words = [str(program), mode, *nodes]
    BEGUN.append(subprocess.Popen(words, env=environment, start_new_session=True))
    return BEGUN[-1]


def seen(count: int = 1, timeout_s: float = 20) -> list[marked.Process]:
    """The marked processes that hold something, once there are so many."""
    until = time.monotonic() + timeout_s
    while True:
        found = [one for one in marked.find(MARK, []) if one.nodes]
        if len(found) >= count or time.monotonic() > until:
            return found
        time.sleep(0.01)


def test_a_holder_is_found_by_its_mark_and_ended(program: Path) -> None:
    pid = begin(program, "plain", "/dev/full", "/dev/zero").pid
    assert [(one.pid, one.nodes) for one in seen()] == [(pid, ["nvidia0", "nvidiactl"])]
    assert marked.end(MARK, [], []) == []
    assert seen(timeout_s=0) == []


def test_a_zombie_leader_holds_by_another_thread(program: Path) -> None:
    begin(program, "zombie-leader", "/dev/full")
    until = time.monotonic() + 20
    while seen()[0].state != "Z" and time.monotonic() < until:
        time.sleep(0.01)
    assert (seen()[0].state, seen()[0].nodes) == ("Z", ["nvidia0"])


def test_a_forked_child_holds_what_its_dead_parent_opened(program: Path) -> None:
    parent = begin(program, "forked-child", "/dev/full")
    parent.wait()
    assert [one.nodes for one in seen()] == [["nvidia0"]]
    assert seen()[0].pid != parent.pid


def test_one_that_ignores_term_ends_by_kill(program: Path) -> None:
    pid = begin(program, "term-ignorer", "/dev/full").pid
    seen()
    time.sleep(0.05)
    os.kill(pid, signal.SIGTERM)
    time.sleep(0.05)
    assert [one.pid for one in seen()] == [pid]


def test_a_respawner_starts_another_holder(program: Path) -> None:
    begin(program, "respawner", "/dev/full")
    first = seen()[0]
    marked.kill(first.pid, first.start)
    until = time.monotonic() + 20
    while [one.pid for one in seen()] == [first.pid] and time.monotonic() < until:
        time.sleep(0.02)
    assert seen()[0].pid != first.pid


def test_a_fork_bomb_is_bounded_and_can_be_ended(program: Path) -> None:
    begin(program, "fork-bomb", "/dev/full")
    assert 20 < len(seen(count=40)) < 90
    assert marked.end(MARK, [], []) == []


def test_a_mapping_outlives_its_descriptor(program: Path) -> None:
    begin(program, "mapped-only", "/dev/zero")
    until = time.monotonic() + 20
    while time.monotonic() < until:
        found = marked.find(MARK, [])
        mapped = [marked.gpu_holders.mapped_devices(f"/proc/{one.pid}") for one in found]
        if any((1, 5) in devices for devices in mapped):
            break
        time.sleep(0.01)
    assert any((1, 5) in devices for devices in mapped)


def test_children_do_not_die_with_their_parent_where_that_was_prevented(program: Path) -> None:
    script = (
        "import ctypes, os, signal, time\n"
        "if os.fork() == 0:\n"
        "    ctypes.CDLL(None).prctl(1, signal.SIGKILL)\n"
        "    kept = open('/dev/full', 'wb', 0)\n"
        "time.sleep(600)\n"
    )
    parent = begin(program, "without-pdeathsig", "/usr/bin/env", "python3", "-c", script)
    child = seen()[0]
    parent.kill()
    parent.wait()
    time.sleep(0.05)
    assert [one.pid for one in seen()] == [child.pid]


def test_a_process_that_took_over_a_pid_is_not_ended(program: Path) -> None:
    begun = begin(program, "plain", "/dev/full")
    one = seen()[0]
    marked.kill(one.pid, one.start - 1)
    time.sleep(0.05)
    assert [two.pid for two in seen()] == [begun.pid]


def test_members_of_a_session_are_found_without_a_mark(program: Path) -> None:
    words = [str(program), "plain", "/dev/full"]
    BEGUN.append(subprocess.Popen(words, env={}, start_new_session=True))
    pid = BEGUN[-1].pid
    told = marked.fields(pid)
    assert told is not None
    session = (pid, int(told[20]))
    assert [one.pid for one in marked.find(MARK, [session])] == [pid]
    assert marked.end(MARK, [session], []) == []
