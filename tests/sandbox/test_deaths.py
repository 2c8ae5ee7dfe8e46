"""Servers that die in six ways: in the deploy, in the reports left behind, in systemd.

Small stand-ins replay what real servers wrote and end as they did; test_main_job.py has real ones.
The tests of this file are one story and run in the order they stand in.
"""

import re
import time
from collections.abc import Iterator

import pytest

from tests.sandbox.dying import Dying, Ward, ward
from tests.sandbox.site import ROOT, Run
from tests.sandbox.standin import sandbox

pytestmark = pytest.mark.sandbox
INSTANCE = "test-deaths"

REAL = ROOT / "tests/health/crash/recorded/0.5.12"
REPLAYED = ROOT / "tests/sandbox/recorded"
FLAG = Dying(
    "bad-flag", 0, "flag_unknown", "--num-speculative-tokens", flags={"num-speculative-tokens": 16}
)
HICACHE = Dying("hicache", 1, "host_ram_short", "300", "KILL", REAL / "hicache_too_large.log")
SCHEDULER = Dying(
    "scheduler", 2, "silent_death", "exit code -9", "KILL", REAL / "killed_scheduler.log"
)
CAPTURE = Dying(
    "capture", 3, "gpu_oom", "mem-fraction-static", "KILL", REPLAYED / "capture_oom.log"
)
PORT = Dying("port", 4, "port_in_use", "already in use", "stay", REAL / "port_taken.log")
SILENT = Dying("silent", 5, "silent_death", "", "exit 0")
DEAD = (FLAG, HICACHE, SCHEDULER, CAPTURE, SILENT)
ALL = (*DEAD, PORT)
TRIED = ALL[1:]
"""The first is refused before anything is touched."""


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    logs = [server.log for server in ALL if server.log]
    with ward(INSTANCE, tmp_path_factory.mktemp("site"), logs) as found:
        yield found


@pytest.fixture(scope="module")
def runs(at: Ward) -> dict[str, Run]:
    """A deploy for each, in which it dies: nothing served there before, so it is undone."""
    return {server.name: at.deploy(server.flag_set()) for server in TRIED}


@pytest.fixture(scope="module")
def left(at: Ward, runs: dict[str, Run]) -> None:
    """All of them on disk, as a server that was proved and dies of something new."""
    at.left(*(server.flag_set() for server in ALL))


def until_failed(at: Ward, server: Dying) -> None:
    """Until systemd gave up, which takes three starts."""
    until = time.monotonic() + 90
    while at.shown(server.unit, "ActiveState") != ["failed"]:
        assert time.monotonic() < until
        time.sleep(0.5)


def part(run: Run, server: Dying) -> str:
    """What the deploy says of this server."""
    found = re.search(
        rf"cannot serve {server.name} by .*?(?=\n[^\n]*undone: )", run.text, re.DOTALL
    )
    assert found, run.text
    return found[0]


@pytest.mark.parametrize("server", TRIED, ids=[server.name for server in TRIED])
def test_the_deploy_ends_in_the_cause_and_the_one_thing_to_do(
    runs: dict[str, Run], server: Dying
) -> None:
    run = runs[server.name]
    assert run.rc == 1
    told = part(run, server)
    assert f"more: stoker explain {server.expected}" in told
    assert " do: " in told
    assert server.shown in told
    if server.expected != "silent_death":
        assert re.search(r" line \d+: ", told), told
    assert f"undone: {server.unit} was not there before this run, and is gone again" in run.text


def test_a_hang_is_told_as_one_with_its_cause(runs: dict[str, Run]) -> None:
    assert "no log line and no work for" in part(runs[PORT.name], PORT)


@pytest.mark.parametrize("server", TRIED[:-1], ids=[server.name for server in TRIED[:-1]])
def test_each_leaves_a_report_of_its_own_class_though_its_unit_is_gone(
    at: Ward, runs: dict[str, Run], server: Dying
) -> None:
    assert at.room.inside(f"ls /usr/local/lib/systemd/system/{server.unit}", check=False) == ""
    first = at.reports(server.unit)[0]
    assert first["verdict"]["class"] == server.expected
    assert first["death"]["restarts"] == 0
    assert first["verdict"]["action"] in part(runs[server.name], server)


def test_what_has_not_died_leaves_none(at: Ward, runs: dict[str, Run]) -> None:
    assert at.reports(PORT.unit) == []


def test_after_three_deaths_systemd_gives_up_and_its_status_says_why(at: Ward, left: None) -> None:
    for server in DEAD:
        until_failed(at, server)
    time.sleep(3)
    for server in DEAD:
        status = at.room.inside(f"systemctl status --full -n 12 {server.unit}", check=False)
        assert "gave up after 3 starts" in status, status
        assert f"stoker explain {server.expected}" in status
        deaths = at.reports(server.unit)[-3:]
        assert [one["death"]["restarts"] for one in deaths] == [0, 1, 2]


def diagnosed(at: Ward) -> Run:
    """`pyinfra INVENTORY diagnose.py`, for all of them."""
    wanted = at.wants(*(server.flag_set() for server in ALL))
    return at.site.pyinfra("--dry", "--data", wanted, "diagnose.py")


def row(run: Run, server: Dying) -> str:
    """Of the table."""
    return next(line for line in run.text.splitlines() if f"│ {server.unit} │" in line)


def test_diagnose_tells_each_by_its_first_failure_and_changes_nothing(at: Ward, left: None) -> None:
    for server in DEAD:
        until_failed(at, server)
    before = at.room.inside("ls -lR --time-style=full-iso /var/lib/stoker /usr/local/lib/stoker")
    told = diagnosed(at)
    assert told.rc == 1
    for server in ALL:
        assert f" {server.expected} " in row(told, server)
        assert f"  more: stoker explain {server.expected}" in told.text
        assert server.shown in told.text
    assert told.text.count("systemd gave up after 3 starts") == len(DEAD)
    assert "looked at: the kernel log of pve1: nothing of interest" in told.text
    after = at.room.inside("ls -lR --time-style=full-iso /var/lib/stoker /usr/local/lib/stoker")
    assert after == before


def test_what_only_the_node_sees_is_the_cause_of_a_silent_death(at: Ward, left: None) -> None:
    sandbox(INSTANCE, "break", "gpu-lost")
    at.room.inside(f"systemctl reset-failed {SILENT.unit}; systemctl start {SILENT.unit}")
    until_failed(at, SILENT)
    told = diagnosed(at)
    sandbox(INSTANCE, "break", "--heal")
    assert " gpu_lost " in row(told, SILENT)
    assert f"{SILENT.unit}: the GPU 0000:01:00 has fallen off the bus (Xid 79)" in told.text
    assert " flag_unknown " in row(told, FLAG)


def test_the_next_deploy_tells_what_died_since_and_the_one_after_does_not(at: Ward) -> None:
    serving = HICACHE.flag_set(STANDIN_STOP="KILL")
    healed = at.deploy(serving)
    assert healed.rc == 0, healed.text
    assert f"{HICACHE.unit} has died 3 times" in healed.text
    quiet = at.deploy(serving)
    assert (quiet.rc, quiet.changed) == (0, 0), quiet.text
    assert "has died" not in quiet.text


def test_a_stop_that_was_asked_for_is_no_death_though_it_ends_by_kill(at: Ward) -> None:
    before = at.reports(HICACHE.unit)
    at.room.inside(f"systemctl stop {HICACHE.unit}")
    assert at.shown(HICACHE.unit, "ActiveState", "Result") == ["signal", "failed"]
    assert at.reports(HICACHE.unit) == before
    status = at.room.inside(f"systemctl status -n 12 {HICACHE.unit}", check=False)
    assert "gave up" not in status
    assert at.deploy(HICACHE.flag_set(STANDIN_STOP="KILL")).rc == 0


def test_a_death_in_the_night_is_told_in_a_line_though_it_serves_again(at: Ward) -> None:
    at.room.inside(f"systemctl kill --kill-whom=main --signal=KILL {HICACHE.unit}")
    until = time.monotonic() + 60
    while at.shown(HICACHE.unit, "NRestarts") != ["1"]:
        assert time.monotonic() < until
        time.sleep(0.5)
    run = at.deploy(HICACHE.flag_set(STANDIN_STOP="KILL"))
    assert run.rc == 0, run.text
    (line,) = (line for line in run.text.splitlines() if "has died" in line)
    assert f"{HICACHE.unit} has died at 20" in line


def test_a_full_disk_keeps_no_restart_from_happening_and_is_told(at: Ward) -> None:
    folder = "/var/lib/stoker/deaths"
    full = f"head -c 8k /dev/zero >{folder}/full || true"
    at.room.inside(f"mount -t tmpfs -o size=4k none {folder}; {full}")
    before = at.shown(HICACHE.unit, "NRestarts")
    at.room.inside(f"systemctl kill --kill-whom=main --signal=KILL {HICACHE.unit}")
    until = time.monotonic() + 60
    while at.shown(HICACHE.unit, "NRestarts") == before:
        assert time.monotonic() < until
        time.sleep(0.5)
    at.room.inside(f"umount {folder}")
    said = at.room.inside(f"journalctl -q -o cat -t stoker -n 20 -u {HICACHE.unit}")
    assert "cannot keep the report of this death" in said
    assert "No space left on device" in said
