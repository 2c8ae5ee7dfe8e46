"""Who is signalled: the property over random process trees, and the real thing."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.health.acts import KillCgroup, Signal
from stoker.health.owners import owner
from stoker.health.plans import plan
from stoker.health.seen import Holder, Stuck
from stoker.recovery import cgroups, signals
from stoker.recovery.commands import ticks_of
from stoker.recovery.machine import Machine
from stoker.recovery.signals import GONE, SENT, Pidfds
from tests.health.nodes import gpu, holder, seen, situation, unit

UNIT = "/lxc/200/ns/system.slice/sglang.service"
GROUPS = (
    "/lxc/200/ns/.lxc",
    "/lxc/200/ns/init.scope",
    UNIT,
    "/lxc/200/ns/user.slice/user-0.slice/session-1.scope",
    "/lxc/201/ns/.lxc",
    "/lxc/201/ns/system.slice/sglang.service",
    "/lxc/2000/ns/.lxc",
    "/lxc.monitor/200",
    "/system.slice/sglang.service",
    "/system.slice/nvidia-persistenced.service",
    "/qemu.slice/200.scope",
    "/",
)


@dataclass
class Living:
    """A process of the played kernel."""

    pid: int
    start_ticks: int
    cgroup: str
    holds: bool
    ns_pid: int
    state: str


class Kernel:
    """Processes by pid, shown as a /proc, with pidfds that stay with their process."""

    def __init__(self, root: Path, processes: list[Living]) -> None:
        self.root = root
        self.by_pid = {one.pid: one for one in processes}
        self.pinned: list[Living] = []
        self.signalled: list[Living] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def show(self) -> Machine:
        for pid in range(1, 12):
            shutil.rmtree(self.root / str(pid), ignore_errors=True)
        for one in self.by_pid.values():
            folder = self.root / str(one.pid)
            folder.mkdir()
            rest = " ".join(["0"] * 17)
            stat = f"{one.pid} (a) b) {one.state} 1 {rest} {one.start_ticks} 0 0 0"
            (folder / "stat").write_text(stat)
            (folder / "cgroup").write_text(f"0::{one.cgroup}\n")
            (folder / "status").write_text(f"NSpid:\t{one.pid}\t{one.ns_pid}\n")
        return Machine(proc=str(self.root))

    def become(self, processes: list[Living]) -> None:
        """Pids are used again; /proc shows at once what is so."""
        self.by_pid.update({one.pid: one for one in processes})
        self.show()

    def open(self, pid: int) -> int:
        if pid not in self.by_pid:
            raise OSError(errno.ESRCH, "gone")
        self.pinned.append(self.by_pid[pid])
        return len(self.pinned) - 1

    def send(self, fd: int, number: int) -> None:
        self.meanwhile()
        one = self.pinned[fd]
        if self.by_pid.get(one.pid) is not one:
            raise OSError(errno.ESRCH, "gone")
        self.signalled.append(one)

    def close(self, fd: int) -> None:
        pass

    def holds(self, pid: int) -> bool:
        return pid in self.by_pid and self.by_pid[pid].holds


processes = st.builds(
    Living,
    pid=st.integers(1, 11),
    start_ticks=st.integers(1, 3),
    cgroup=st.sampled_from(GROUPS),
    holds=st.booleans(),
    ns_pid=st.integers(1, 3),
    state=st.sampled_from("SDRZ"),
)
trees = st.lists(processes, max_size=8, unique_by=lambda one: one.pid)


def as_seen(one: Living) -> Holder:
    """What a look makes of it."""
    told = holder(one.pid, one.cgroup, 0, ns_pid=one.ns_pid, start_ticks=one.start_ticks)
    stuck = Stuck("unkillable", "nvidia", "") if one.state == "D" else told.stuck
    return replace(told, owner=owner(f"0::{one.cgroup}"), state=one.state, stuck=stuck)


@given(before=trees, after=trees, last=trees, step=st.sampled_from(["terminate", "kill"]))
@settings(max_examples=60, deadline=None)
@pytest.mark.scenario("X1")
def test_no_process_but_a_holder_in_the_container_is_ever_signalled(
    before: list[Living], after: list[Living], last: list[Living], step: str
) -> None:
    """Between the look, the check and the signal the whole tree may change."""
    held = tuple(as_seen(one) for one in before if one.holds)
    look = seen((gpu(0, 91_000), gpu(1)), held)
    acts = plan(step, situation(look, unit()))
    with tempfile.TemporaryDirectory() as root:
        kernel = Kernel(Path(root), after)
        machine = kernel.show()
        pidfds = Pidfds(kernel.open, kernel.send, kernel.close)
        kernel.meanwhile = lambda: kernel.become(last)
        for act in acts:
            if isinstance(act, Signal):
                signals.send(machine, act.holder, 200, act.number, kernel.holds, pidfds)
            elif isinstance(act, KillCgroup):
                assert act.path == UNIT
                assert cgroups.is_of(act.path, 200)
        for one in kernel.signalled:
            assert one.cgroup.startswith("/lxc/200/")
            assert one.holds
            assert one.pid > 1
            assert one.ns_pid > 1
            assert (one.pid, one.start_ticks) in {(h.pid, h.start_ticks) for h in held}


@pytest.mark.parametrize(
    "path",
    [
        "/lxc/201/ns/system.slice/sglang.service",
        "/lxc/2000/ns/system.slice/sglang.service",
        "/lxc/200",
        "/lxc/200/ns",
        "/lxc/200/ns/system.slice",
        "/lxc.monitor/200/x.service",
        "/lxc/200/../201/ns/x.service",
        "/system.slice/sglang.service",
        "/",
    ],
)
def test_no_other_cgroup_is_killed(path: str, tmp_path: Path) -> None:
    folder = tmp_path / path.strip("/")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.kill").write_text("")
    machine = Machine(cgroup=str(tmp_path))
    assert cgroups.kill(machine, path, 200)
    assert (folder / "cgroup.kill").read_text() == ""


def test_a_units_cgroup_is_killed_whole(tmp_path: Path) -> None:
    folder = tmp_path / UNIT.strip("/")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.kill").write_text("")
    assert cgroups.kill(Machine(cgroup=str(tmp_path)), UNIT, 200) == ""
    assert (folder / "cgroup.kill").read_text() == "1"


def test_one_that_is_gone_needs_no_kill(tmp_path: Path) -> None:
    assert cgroups.kill(Machine(cgroup=str(tmp_path)), UNIT, 200) == ""


# --- real processes ------------------------------------------------------------------------------


class Shown:
    """A real process whose cgroup file says what a test wants: /proc with one folder replaced."""

    def __init__(self, root: Path, pid: int, cgroup: str) -> None:
        folder = root / str(pid)
        folder.mkdir()
        for name in ("stat", "status"):
            (folder / name).write_text(Path(f"/proc/{pid}/{name}").read_text())
        (folder / "cgroup").write_text(f"0::{cgroup}\n")
        self.machine = Machine(proc=str(root))
        self.holder = replace(
            holder(pid, cgroup, 0, ns_pid=7, start_ticks=ticks_of(pid)),
            owner=owner(f"0::{cgroup}"),
        )


@pytest.fixture
def sleeper() -> subprocess.Popen[bytes]:
    child = subprocess.Popen(["sleep", "60"])
    yield child
    child.kill()
    child.wait()


def ended(child: subprocess.Popen[bytes]) -> int | None:
    try:
        return child.wait(timeout=2)
    except subprocess.TimeoutExpired:
        return None


def test_a_real_holder_in_the_container_gets_it(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    shown = Shown(tmp_path, sleeper.pid, "/lxc/200/ns/.lxc")
    how = signals.send(shown.machine, shown.holder, 200, signal.SIGTERM, lambda pid: True)
    assert how == SENT
    assert ended(sleeper) == -signal.SIGTERM


REFUSED = {
    "another start time": (200, {"start_ticks": 1}, True, GONE),
    "another container": (201, {}, True, "now belongs to CT 200"),
    "no longer a holder": (200, {}, False, "no longer holds a GPU"),
    "an init": (200, {"ns_pid": 1}, True, "is an init"),
}


PLAYED = {"another start time": "K1", "another container": "O12"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.scenario(PLAYED[name])) if name in PLAYED else name
        for name in REFUSED
    ],
)
def test_a_real_process_that_is_not_what_was_seen_gets_nothing(
    name: str, tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    vmid, changed, holds, words = REFUSED[name]
    shown = Shown(tmp_path, sleeper.pid, "/lxc/200/ns/.lxc")
    other = replace(shown.holder, **changed)
    how = signals.send(shown.machine, other, vmid, signal.SIGKILL, lambda pid: holds)
    assert words in how
    time.sleep(0.05)
    assert sleeper.poll() is None


@pytest.mark.scenario("K2")
@pytest.mark.parametrize("number", [errno.ESRCH, errno.EINVAL])
def test_a_kernel_that_gives_no_pidfd_of_it_says_that_it_is_gone(number: int) -> None:
    def refuse(pid: int) -> int:
        raise OSError(number, "no")

    def send(fd: int, number: int) -> None:
        raise AssertionError(fd)

    pidfds = Pidfds(refuse, send, lambda fd: None)
    one = holder(4711, "/lxc/200/ns/.lxc", 0)
    assert signals.send(Machine(), one, 200, 9, lambda pid: True, pidfds) == GONE


@pytest.mark.scenario("K2", "K13")
def test_one_that_has_ended_is_gone(tmp_path: Path) -> None:
    child = subprocess.Popen(["true"])
    shown = Shown(tmp_path, child.pid, "/lxc/200/ns/.lxc")
    child.wait()
    how = signals.send(shown.machine, shown.holder, 200, signal.SIGKILL, lambda pid: True)
    assert how == GONE


def test_a_zombie_needs_no_signal(tmp_path: Path) -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    shown = Shown(tmp_path, child.pid, "/lxc/200/ns/.lxc")
    how = signals.send(shown.machine, shown.holder, 200, signal.SIGKILL, lambda pid: False)
    assert how != SENT
    child.wait()


def test_the_first_process_of_the_node_is_never_asked_about() -> None:
    first = holder(1, "/lxc/200/ns/.lxc", 0)

    def fail(pid: int) -> int:
        raise AssertionError(pid)

    pidfds = Pidfds(fail, lambda fd, number: None, lambda fd: None)
    assert "init" in signals.send(Machine(), first, 200, 9, lambda pid: True, pidfds)
