"""Who lives on beside a kill, in real cgroups laid out as Proxmox does; the VMID is no node's."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stoker.health.owners import owner
from stoker.health.seen import Holder
from stoker.recovery import cgroups, signals
from stoker.recovery.commands import ticks_of
from stoker.recovery.machine import Machine
from tests.health.nodes import holder

VMID = 987654321
ROOTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
ROOT = next((root for root in ROOTS if os.access(f"{root}/cgroup.procs", os.W_OK)), "")
MACHINE = Machine(cgroup=ROOT)
TOP = f"/lxc/{VMID}"
UNIT = f"{TOP}/ns/system.slice/sglang.service"
SESSION = f"{TOP}/ns/.lxc"
INIT = f"{TOP}/ns/init.scope"

pytestmark = pytest.mark.skipif(not ROOT, reason="no cgroup of version 2 that we may write")


@pytest.fixture(autouse=True)
def container() -> Iterator[None]:
    for path in (UNIT, SESSION, INIT):
        Path(f"{ROOT}{path}").mkdir(parents=True, exist_ok=True)
    yield
    with contextlib.suppress(OSError):
        Path(f"{ROOT}{TOP}/cgroup.kill").write_text("1")
    for folder, _, _ in list(os.walk(f"{ROOT}{TOP}", topdown=False)):
        _gone(folder)
    with contextlib.suppress(OSError):
        Path(f"{ROOT}/lxc").rmdir()


def _gone(folder: str) -> None:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            Path(folder).rmdir()
        except OSError:
            time.sleep(0.01)
        else:
            return


def put(group: str, script: str = "sleep 60") -> subprocess.Popen[bytes]:
    """A process of that cgroup, from its first moment on."""
    enter = f"echo $$ > {ROOT}{group}/cgroup.procs; {script}"
    child = subprocess.Popen(["sh", "-c", enter])
    path = Path(f"/proc/{child.pid}/cgroup")
    while group not in path.read_text():
        time.sleep(0.001)
    return child


def seen(child: subprocess.Popen[bytes], **more: object) -> Holder:
    told = holder(child.pid, "/", 0, ns_pid=9, start_ticks=ticks_of(child.pid))
    text = Path(f"/proc/{child.pid}/cgroup").read_text()
    return replace(told, owner=owner(text), **more)  # type: ignore[arg-type]


def population(group: str) -> int:
    return len(list(cgroups.members(MACHINE, group)))


def emptied(group: str) -> bool:
    """Whether nobody is left; the kernel takes a moment to bury many."""
    end = time.monotonic() + 3
    while population(group) and time.monotonic() < end:
        time.sleep(0.01)
    return not population(group)


def ended(child: subprocess.Popen[bytes]) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        return child.wait(timeout=3) == -signal.SIGKILL
    return False


@pytest.mark.scenario("K9", "K10")
def test_the_containers_init_and_its_shells_live_on() -> None:
    init, shell, worker = put(INIT), put(SESSION), put(UNIT)
    try:
        assert cgroups.kill(MACHINE, UNIT, VMID) == ""
        assert ended(worker)
        assert (init.poll(), shell.poll()) == (None, None)
    finally:
        init.kill()
        shell.kill()


@pytest.mark.scenario("K11")
def test_a_frozen_holder_is_killed() -> None:
    worker = put(SESSION)
    Path(f"{ROOT}{SESSION}/cgroup.freeze").write_text("1")
    how = signals.send(MACHINE, seen(worker), VMID, signal.SIGKILL, lambda pid: True)
    assert how == signals.SENT
    assert ended(worker)


@pytest.mark.scenario("O12")
def test_one_that_moved_out_of_the_container_is_left_alone() -> None:
    worker = put(SESSION)
    before = seen(worker)
    try:
        Path(f"{ROOT}/cgroup.procs").write_text(str(worker.pid))
        how = signals.send(MACHINE, before, VMID, signal.SIGKILL, lambda pid: True)
        assert "now belongs to host" in how
        assert worker.poll() is None
    finally:
        worker.kill()


@pytest.mark.scenario("K9")
def test_the_containers_init_is_never_signalled_even_as_a_holder() -> None:
    init = put(INIT)
    try:
        first = seen(init, ns_pid=1)
        how = signals.send(MACHINE, first, VMID, signal.SIGKILL, lambda pid: True)
        assert "init" in how
        assert init.poll() is None
    finally:
        init.kill()


def test_a_frozen_container_is_noticed_and_an_absent_one_too() -> None:
    assert not cgroups.frozen(MACHINE, VMID)
    assert not cgroups.there(MACHINE, VMID)
    shell = put(SESSION)
    try:
        assert cgroups.there(MACHINE, VMID)
    finally:
        shell.kill()
