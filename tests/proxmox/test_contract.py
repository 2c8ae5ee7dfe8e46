"""Whichever way is taken: the same trouble is the same error.

The API's half is played by fakepve, that of `pct` by its words: those of real-node recordings where
there are any, else of Proxmox's source.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from stoker.proxmox import errors
from stoker.proxmox.backend import Backend
from stoker.proxmox.by_api import ByApi
from stoker.proxmox.pct import Pct
from tests.proxmox.conftest import TEMPLATE, Ended, Shell


@dataclass(frozen=True)
class Case:
    act: Callable[[Backend], object]
    arrange: Callable[[Any], object]
    printed: bytes
    kind: type[errors.ProxmoxError] | None


def create(way: Backend) -> object:
    return way.create(200, {"ostemplate": TEMPLATE, "rootfs": "local-lvm:8"})


def change(way: Backend) -> object:
    return way.set(200, {"cores": "2"}, (), "0" * 40)


def start(way: Backend) -> object:
    return way.start(200)


def shutdown(way: Backend) -> object:
    return way.shutdown(200, 60, False)


def there(**more: Any) -> Callable[[Any], object]:
    return lambda pve: pve.add_ct(200, **more)


def without_quorum(pve: Any) -> None:
    pve.add_ct(200)
    pve.lose_quorum()


def no_template(pve: Any) -> None:
    pve.volume_exists = lambda volume: False


def held(pve: Any) -> None:
    pve.add_ct(200).lock_holder = "scenario"


def broken(pve: Any) -> None:
    pve.add_ct(200).start_error = "startup for container '200' failed"


def deaf(pve: Any) -> None:
    pve.add_ct(200, status="running").shutdown_secs = 100


GONE = b"Configuration file 'nodes/pve1/lxc/200.conf' does not exist\n"
LOCKED = b"CT is locked (backup)\n"
QUORUM = b"cluster not ready - no quorum?\n"

CASES = {
    "start what is not there": Case(start, bool, GONE, errors.NoSuchContainer),
    "start what is locked": Case(start, there(lock="backup"), LOCKED, errors.Locked),
    "start what runs": Case(start, there(status="running"), b"CT 200 already running\n", None),
    "start without quorum": Case(start, without_quorum, QUORUM, errors.NoQuorum),
    "start what cannot": Case(
        start, broken, b"startup for container '200' failed\n", errors.TaskFailed
    ),
    "shut down what is locked": Case(
        shutdown, there(lock="backup", status="running"), LOCKED, errors.Locked
    ),
    "shut down what does not run": Case(shutdown, there(), b"CT 200 not running\n", None),
    "shut down what is deaf": Case(shutdown, deaf, b"container did not stop\n", errors.TaskFailed),
    "change what is not there": Case(change, bool, GONE, errors.NoSuchContainer),
    "change what is locked": Case(change, there(lock="snapshot"), LOCKED, errors.Locked),
    "change what is held": Case(
        change,
        held,
        b"trying to acquire lock...\n"
        b"can't lock file '/run/lock/lxc/pve-config-200.lock' - got timeout\n",
        errors.Locked,
    ),
    "change without quorum": Case(change, without_quorum, QUORUM, errors.NoQuorum),
    "change what somebody changed": Case(
        change,
        there(),
        b"detected modified configuration - file changed by other user? Try again.\n",
        errors.Changed,
    ),
    "change to what is none": Case(
        lambda way: way.set(200, {"cores": "many"}),
        there(),
        b"400 Parameter verification failed.\ncores: type check ('integer') failed - got 'many'\n",
        errors.Rejected,
    ),
    "delete what must be": Case(
        lambda way: way.set(200, {}, ["memory"]),
        there(),
        b"unable to delete required option 'memory'\n",
        errors.Rejected,
    ),
    "create what is there": Case(
        create, there(), b"CT 200 already exists on node 'pve1'\n", errors.AlreadyExists
    ),
    "create from nothing": Case(
        create,
        no_template,
        f"unable to create CT 200 - volume '{TEMPLATE}' does not exist\n".encode(),
        errors.Rejected,
    ),
    "create on nothing": Case(
        lambda way: way.create(200, {"ostemplate": TEMPLATE, "rootfs": "nosuch:8"}),
        bool,
        b"storage 'nosuch' does not exist\n",
        errors.Rejected,
    ),
    "shrink": Case(
        lambda way: way.resize(200, "rootfs", "1G"),
        there(),
        b"unable to shrink disk size\n",
        errors.Rejected,
    ),
    "take a snapshot again": Case(
        lambda way: (way.snapshot(200, "one", ""), way.snapshot(200, "one", "")),
        there(),
        b"snapshot name 'one' already used\n",
        errors.Rejected,
    ),
    "delete no snapshot": Case(
        lambda way: way.delete_snapshot(200, "none"),
        there(),
        b"snapshot 'none' does not exist\n",
        errors.Rejected,
    ),
}


def kind_of(act: Callable[[], object]) -> type[BaseException] | None:
    try:
        act()
    except errors.ProxmoxError as error:
        return type(error)
    return None


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_both_ways_fail_alike(fakepve: Any, api: ByApi, case: Case) -> None:
    case.arrange(fakepve)
    verbs = "create", "set", "resize", "start", "shutdown", "snapshot", "delsnapshot"
    shell = Shell({verb: Ended(255, b"", case.printed) for verb in verbs})
    assert kind_of(lambda: case.act(api)) is case.kind
    assert kind_of(lambda: case.act(Pct(shell, "pve1"))) is case.kind
