"""What is owed is written before it is taken, and given back on every way out."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from stoker.health.acts import Change
from stoker.recovery import abandoned, locking
from stoker.recovery.attempts import Attempts
from stoker.recovery.locking import Busy, Held
from stoker.recovery.machine import Machine
from stoker.recovery.record import Record

MASK = Change("mask", "sglang.service")
POWER = Change("persistence", "GPU-0")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "proc/sys/kernel/random").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/random/boot_id").write_text("one\n")
    return Machine(
        proc=str(tmp_path / "proc"),
        run=str(tmp_path / "run"),
        locks=str(tmp_path / "locks"),
        state=str(tmp_path / "state"),
    )


def test_a_record_outlives_its_run_until_its_units_serve(machine: Machine) -> None:
    record = Record(machine, 200)
    record.wants(frozenset({"sglang.service"}))
    record.remember(MASK)
    record.remember(POWER)
    again = Record(machine, 200)
    assert again.changes == (MASK, POWER)
    assert again.wanted == {"sglang.service"}
    again.forget(MASK)
    assert Record(machine, 200).changes == (POWER,)
    again.forget(POWER)
    assert Record(machine, 200).changes == ()
    assert Record(machine, 200).wanted == {"sglang.service"}
    again.close()
    assert not Path(again.path).exists()


def test_nothing_is_written_before_the_first_change(machine: Machine) -> None:
    record = Record(machine, 200)
    record.wants(frozenset({"sglang.service"}))
    assert not Path(record.path).exists()


def test_the_record_is_roots_alone(machine: Machine) -> None:
    record = Record(machine, 200)
    record.remember(MASK)
    assert stat.S_IMODE(Path(record.path).stat().st_mode) == 0o600


def test_a_record_that_was_cut_short_is_none(machine: Machine) -> None:
    Record(machine, 200).remember(MASK)
    Path(Record(machine, 200).path).write_text('{"changes": [{"ki')
    assert Record(machine, 200).changes == ()


@pytest.mark.scenario("L36")
def test_a_reset_counts_until_the_node_boots_again(machine: Machine, tmp_path: Path) -> None:
    Attempts(machine).mark("GPU-0")
    assert Attempts(machine).reset == {"GPU-0"}
    (tmp_path / "proc/sys/kernel/random/boot_id").write_text("two\n")
    assert Attempts(machine).reset == frozenset()


def test_a_mark_can_be_cleared(machine: Machine) -> None:
    Attempts(machine).mark("GPU-0")
    assert Attempts(machine).clear(frozenset({"GPU-0", "GPU-1"})) == {"GPU-0"}
    assert Attempts(machine).made == frozenset()


@pytest.mark.scenario("L24")
def test_a_second_run_is_told_who_is_at_it(machine: Machine) -> None:
    held = Held(locking.paths(machine, 200), "recovery of CT 200")
    with pytest.raises(Busy, match=f"recovery of CT 200 .process {os.getpid()}. since"):
        Held(locking.paths(machine, 201), "recovery of CT 201")
    assert "recovery of CT 200" in locking.holder(f"{machine.locks}/gpu.lock")
    held.free()
    Held(locking.paths(machine, 201), "recovery of CT 201").free()
    assert locking.holder(f"{machine.locks}/gpu.lock") == ""


def test_who_is_refused_the_second_lock_gives_up_the_first(machine: Machine) -> None:
    deploy = Held((f"{machine.locks}/200.lock",), "deploy by ann")
    with pytest.raises(Busy, match="deploy by ann"):
        Held(locking.paths(machine, 200), "recovery of CT 200")
    assert locking.holder(f"{machine.locks}/gpu.lock") == ""
    deploy.free()


def test_the_containers_lock_is_the_deployments(machine: Machine) -> None:
    from stoker.pct.agent.checks import Refusal
    from stoker.pct.agent.locks import Locks

    held = Held(locking.paths(machine, 200), "recovery of CT 200")
    with pytest.raises(Refusal) as refused:
        Locks(machine.locks).take(200, "deploy by ann")
    assert refused.value.answer["who"] == "recovery of CT 200"
    held.free()


RUN = """
import sys, time
from stoker.health.acts import Change
from stoker.health.done import Permitted
from stoker.recovery import recovering
from stoker.recovery.journal import Journal
from stoker.recovery.machine import Machine
from stoker.recovery.recovering import Order

root, way = sys.argv[1:]
machine = Machine(**{name: f"{root}/{name}" for name in ("proc", "run", "locks", "state")})

def climbed(machine, order, acting, journal):
    print([change.name for change in acting.record.changes], flush=True)
    acting.record.remember(Change("mask", "sglang.service"))
    if way == "raises":
        raise RuntimeError("oops")
    print("taken", flush=True)
    time.sleep(30)

recovering._climbed = climbed
outcome = recovering.recover(machine, Order(200, (), None, Permitted()), Journal(None))
print(outcome.code, outcome.text, flush=True)
"""


def started(machine: Machine, way: str) -> subprocess.Popen[str]:
    root = str(Path(machine.run).parent)
    return subprocess.Popen(
        [sys.executable, "-c", RUN, root, way], stdout=subprocess.PIPE, text=True
    )


def until_taken(child: subprocess.Popen[str]) -> None:
    assert child.stdout is not None
    assert "taken\n" in iter(child.stdout.readline, "")


def test_after_an_exception_nothing_is_owed(machine: Machine) -> None:
    child = started(machine, "raises")
    out, _ = child.communicate(timeout=10)
    assert out.splitlines()[-1].startswith("1 cannot recover CT 200: RuntimeError: oops")
    assert Record(machine, 200).changes == ()


@pytest.mark.scenario("L40")
def test_after_sigterm_nothing_is_owed(machine: Machine) -> None:
    child = started(machine, "waits")
    until_taken(child)
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate(timeout=10)
    assert out.startswith("1 cannot go on with CT 200: it got SIGTERM")
    assert Record(machine, 200).changes == ()


@pytest.mark.scenario("L25")
def test_after_sigkill_the_next_run_finds_what_is_owed(machine: Machine) -> None:
    child = started(machine, "waits")
    until_taken(child)
    assert Record(machine, 200).changes == (MASK,)
    child.kill()
    child.communicate()
    assert locking.holder(f"{machine.locks}/gpu.lock") == ""
    again = started(machine, "raises")
    out, _ = again.communicate(timeout=10)
    assert out.splitlines()[0] == "['sglang.service']"
    assert Record(machine, 200).changes == ()


def test_files_are_whole_or_absent(machine: Machine) -> None:
    Record(machine, 200).remember(MASK)
    assert json.loads(Path(Record(machine, 200).path).read_text())["changes"]
    assert [p.name for p in Path(machine.run).iterdir()] == ["recovery-200.json"]


@pytest.mark.parametrize("text", ["[]", "{", '{"changes": 3}', '{"changes": [{"kind": "mask"}]}'])
def test_a_record_that_is_none_is_as_if_it_were_not_there(machine: Machine, text: str) -> None:
    Path(machine.run).mkdir()
    for name in ("recovery-200.json", "abandoned.json", "attempts.json"):
        Path(machine.run, name).write_text(text)
    assert Record(machine, 200).changes == ()
    assert abandoned.alive(machine) == []
    assert Attempts(machine).made == frozenset()


def test_a_lock_does_not_name_one_who_has_ended(machine: Machine) -> None:
    path = locking.paths(machine, 200)[1]
    Held([path], "somebody").free()
    child = subprocess.Popen(["true"])
    child.wait()
    Path(path).write_text(json.dumps({"who": "an old run", "since": "then", "pid": child.pid}))
    with Path(path).open(encoding="utf-8") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert "an old run" not in locking.holder(path)
        assert "lslocks" in locking.holder(path)
