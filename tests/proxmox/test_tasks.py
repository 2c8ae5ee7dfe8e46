"""Tasks: a UPID is no success, and an end that nobody saw is no failure."""

from collections.abc import Mapping
from typing import Any

import pytest

from stoker.proxmox.by_api import ByApi
from stoker.proxmox.errors import (
    Locked,
    NodeOffline,
    NoSuchContainer,
    ProxmoxError,
    Rejected,
    TaskFailed,
    TaskUnknown,
    Unreachable,
)
from stoker.proxmox.tasks import awaited
from tests.proxmox.conftest import Clock

UPID = "UPID:pve1:000003EE:00001B82:6B0D2E8A:vzstart:200:stoker@pve!deploy:"
RUNS = {"status": "running"}


class Told:
    """A session that tells what it is told to, the last thing for ever."""

    def __init__(self, clock: Clock, *told: Any, log: tuple[str, ...] = ()) -> None:
        self.sleep = clock.sleep
        self.clock = clock
        self.told = list(told)
        self.log = log
        self.asked: list[str] = []

    def call(self, method: str, path: str, params: Mapping[str, Any], asked: str = "") -> Any:
        self.asked.append(f"{method} {path}")
        if path.endswith("/log"):
            return [{"n": n, "t": line} for n, line in enumerate(self.log)]
        now = self.told.pop(0) if len(self.told) > 1 else self.told[0]
        if isinstance(now, Exception):
            raise now
        return now


def ended(how: str) -> dict[str, str]:
    return {"status": "stopped", "exitstatus": how}


def failure(told: Told, limit_s: float = 60) -> ProxmoxError:
    with pytest.raises(ProxmoxError) as error:
        awaited(told, UPID, "start CT 200", limit_s)
    return error.value


def test_it_is_looked_at_often_at_first_and_then_every_second(clock: Clock) -> None:
    assert awaited(Told(clock, *[RUNS] * 12, ended("OK")), UPID, "start CT 200", 60) == ()
    assert clock.slept[0] == 0.05
    assert clock.slept == sorted(clock.slept)
    assert clock.slept[-1] == 1.0


def test_where_it_is_over_at_once_nobody_waits(clock: Clock) -> None:
    told = Told(clock, ended("OK"))
    awaited(told, UPID, "start CT 200", 60)
    assert (clock.slept, told.asked) == ([], [f"GET nodes/pve1/tasks/{UPID}/status"])


def test_warnings_are_a_success_that_is_told(clock: Clock) -> None:
    log = ("unpacking", "WARN: Systemd 257 detected. You may need to enable nesting.", "TASK ...")
    assert awaited(Told(clock, ended("WARNINGS: 1"), log=log), UPID, "", 60) == log[1:2]
    assert awaited(Told(clock, ended("WARNINGS: 1")), UPID, "", 60) == ("WARNINGS: 1",)


def test_a_failure_has_its_last_lines(clock: Clock) -> None:
    how = "startup for container '102' failed"
    log = ("one", "two", "", "bridge 'vmbr9' is gone", "giving up", how, f"TASK ERROR: {how}")
    error = failure(Told(clock, ended(how), log=log))
    assert type(error) is TaskFailed
    assert f"Proxmox says: {how}; its task {UPID} ended so" in str(error)
    assert str(error).endswith("its last lines: two | bridge 'vmbr9' is gone | giving up")


def test_a_failure_that_has_a_name_is_that(clock: Clock) -> None:
    assert type(failure(Told(clock, ended("CT is locked (backup)")))) is Locked


def test_a_lost_connection_is_waited_out(clock: Clock) -> None:
    lost = Unreachable("gone"), NodeOffline("gone"), ProxmoxError("gone")
    assert awaited(Told(clock, RUNS, *lost, ended("OK")), UPID, "start CT 200", 60) == ()


@pytest.mark.parametrize("told", [RUNS, Unreachable("cannot see it: gone"), {}])
def test_a_task_that_outlives_its_limit_may_still_run(clock: Clock, told: Any) -> None:
    error = failure(Told(clock, told), 10)
    assert type(error) is TaskUnknown
    assert f"it may still run, look at it there: pvesh get /nodes/pve1/tasks/{UPID}/" in str(error)
    assert ("cannot see it: gone" if isinstance(told, Exception) else "for more than 10 s") in str(
        error
    ) or told == {}
    assert clock.now <= 10


def test_who_may_not_look_does_not_wait(clock: Clock) -> None:
    assert type(failure(Told(clock, Rejected("no such task")))) is TaskUnknown
    assert clock.slept == []


@pytest.mark.parametrize("how", ["", "unexpected status", "unable to read tail (got 0 bytes)"])
def test_an_end_that_its_node_does_not_know_is_not_known(clock: Clock, how: str) -> None:
    assert type(failure(Told(clock, ended(how)))) is TaskUnknown


@pytest.mark.parametrize("upid", [None, "", "UPID:x", 7, "<html>"])
def test_what_is_no_task_is_not_waited_for(clock: Clock, upid: Any) -> None:
    with pytest.raises(TaskUnknown, match="is no task"):
        awaited(Told(clock, RUNS), upid, "start CT 200", 60)


class TestWithAServer:
    """fakepve's tasks take time and fail."""

    @pytest.mark.fakepve(time_scale=0.01)
    def test_a_slow_task_is_waited_for(self, fakepve: Any, api: ByApi) -> None:
        fakepve.add_ct(200).start_secs = 8
        api.session.sleep = lambda seconds: __import__("time").sleep(0.01)
        api.start(200)
        assert fakepve.ct(200).status == "running"

    @pytest.mark.fakepve(time_scale=0.01)
    def test_a_connection_that_drops_while_it_runs_is_made_again(
        self, fakepve: Any, api: ByApi
    ) -> None:
        fakepve.add_ct(200).start_secs = 8
        api.session.sleep = lambda seconds: __import__("time").sleep(0.01)
        posted = api.session.post("nodes/pve1/lxc/200/status/start")
        fakepve.flaky_network(drop_rate=0.5, seed=1)
        api.session.task(posted)
        assert fakepve.ct(200).status == "running"

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("locked", Locked),
            ("configuration_file_does_not_exist", NoSuchContainer),
            ("missing_rootfs_configuration", TaskFailed),
        ],
    )
    def test_a_task_that_got_a_upid_and_failed_is_a_failure(
        self, fakepve: Any, api: ByApi, name: str, kind: type[Exception]
    ) -> None:
        fakepve.add_ct(200)
        fakepve.fail("POST", "/nodes/pve1/lxc/200/status/start", error=name)
        with pytest.raises(ProxmoxError) as error:
            api.start(200)
        assert type(error.value) is kind

    def test_a_guest_that_does_not_obey_is_a_failure_unless_forced(
        self, fakepve: Any, api: ByApi
    ) -> None:
        ct = fakepve.add_ct(200, status="running")
        ct.shutdown_secs = 100
        with pytest.raises(TaskFailed, match="container did not stop"):
            api.shutdown(200, 60, False)
        assert ct.status == "running"
        api.shutdown(200, 60, True)
        assert ct.status == "stopped"

    @pytest.mark.parametrize("state", ["started", "stopped"])
    def test_what_the_ha_manager_does_not_do_is_not_known(
        self, fakepve: Any, api: ByApi, clock: Clock, state: str
    ) -> None:
        status = "stopped" if state == "started" else "running"
        fakepve.add_ct(200, status=status).ha_state = state

        async def only_asked(ct: Any, user: str, *_: object) -> str:
            async def body() -> None:
                return None

            return str(await fakepve._ct_task(ct, "hastart", user, body, lock=False))

        fakepve._ct_ha = only_asked
        api.session.sleep = lambda seconds: clock.sleep(30 * seconds)
        with pytest.raises(TaskUnknown, match="has not done it within 180 s; see pvesh get"):
            api.start(200) if state == "started" else api.shutdown(200, 60, False)
