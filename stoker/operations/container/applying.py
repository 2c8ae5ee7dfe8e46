"""Bringing one container to what is wanted, one act at a time, each from a new look at its node.

A run that died anywhere is nothing special: the next one looks, and does what is left.
"""

from collections.abc import Callable, Sequence
from typing import Any

from pyinfra import logger
from pyinfra.api import OperationError

from stoker.container.configuration import Configuration
from stoker.container.wanted import Wanted
from stoker.health.wording import printable
from stoker.operations.container import doubts, restarting, showing, snapshotting
from stoker.operations.container.awaiting import await_free, telling
from stoker.operations.container.node import Way
from stoker.operations.container.planning import Plan
from stoker.operations.following import say
from stoker.operations.refusal import failed
from stoker.proxmox.access import Access
from stoker.proxmox.errors import AlreadySo, ProxmoxError
from stoker.refused import Refused

Act = Callable[[Plan], None]


def apply(state: Any, host: Any, wanted: Wanted, access: Access) -> bool:
    """False after a failure, which is told in sentences."""
    try:
        host.connector.hold()
        Course(Way(host, wanted, access)).run()
    except (OperationError, OSError, Refused) as error:
        return failed(host, error)
    return True


class Course:
    """One container on its way."""

    def __init__(self, way: Way) -> None:
        self.way, self.host = way, way.host
        self.vmid, self.wanted = way.vmid, way.wanted
        self.backend = way.backend()
        self.created = False
        self.stopped = False
        """By us: it ran."""
        self.saved = False
        self.full: set[str] = set()
        """Volumes that have their size already, as their storage tells."""

    def run(self) -> None:
        """Act until there is nothing left to do; raises OperationError, OSError or Refused."""
        try:
            self._go()
        except Exception:
            self._start_again()
            raise

    def _go(self) -> None:
        done: set[tuple[str, ...]] = set()
        while act := self._next(found := self.way.plan()):
            step = self._step(act, found)
            if step in done:
                raise OperationError(doubts.unsettled(found))
            done.add(step)
            try:
                act(found)
            except ProxmoxError as error:
                if not doubts.may_be_done(act.__name__, error):
                    raise
                self._look_again(error, step)
        if found.restarts and self.stopped:
            raise OperationError(doubts.unsettled(found))
        showing.told(self.host, found, self.wanted)
        showing.require_gpus(found)

    def _step(self, act: Act, found: Plan) -> tuple[str, ...]:
        return act.__name__, *showing.lines(self.host.name, found), found.raw or ""

    def _look_again(self, error: ProxmoxError, step: tuple[str, ...]) -> None:
        """Raise the error, unless what was asked for is done all the same."""
        try:
            found = self.way.plan()
        except (OSError, Refused):
            raise error from None
        act = self._next(found)
        if act and self._step(act, found) == step:
            raise error
        how_far = doubts.how_far(found, same_act=act is not None and act.__name__ == step[0])
        self.host.log(f"{error}. Looked again: {how_far}", log_func=logger.warning)

    def _next(self, found: Plan) -> Act | None:
        if found.busy and found.acts(self.wanted.allow_restart):
            return self._await
        if found.creates:
            return self._create
        stops = found.restarts and self.wanted.allow_restart and not self.stopped
        # With a snapshot nothing is set before it. Without one Proxmox has its say before anything
        # is stopped.
        if stops and (self.wanted.snapshot or not found.difference.changes):
            return self._stop
        if not found.running and self._saves(found):
            return self._save
        if found.difference.changes:
            return self._set
        if any(disk not in self.full for disk, _ in found.difference.growths):
            return self._grow
        if found.raw is not None and not found.running:
            return self._migrate
        if found.starts or (self.stopped and not found.running):
            return self._start
        if found.noted and found.running:
            return self._forget
        return None

    def _saves(self, found: Plan) -> bool:
        due = self.wanted.snapshot and not (self.saved or self.created)
        return due and found.comes_with_a_start

    def _await(self, found: Plan) -> None:
        await_free(self.way, _there(found).lock)

    def _create(self, found: Plan) -> None:
        showing.show(self.host, found)
        with telling(self.host, f"creating CT {self.vmid}"):
            self._tell(self.backend.create(self.vmid, found.made_with))
        self.created = True

    def _stop(self, found: Plan) -> None:
        actual = _there(found)
        if self.wanted.snapshot:
            storages = self.way.storages()
            snapshotting.require_possible(self.vmid, actual, self.wanted.mounts, storages)
        self.stopped = True
        restarting.stop(self.host, self.backend, self.wanted.stop_timeout_s)

    def _save(self, found: Plan) -> None:
        actual = _there(found)
        with telling(self.host, f"taking a snapshot of CT {self.vmid}"):
            name = snapshotting.take(self.backend, self.vmid, actual, self.wanted.mounts)
        self.saved = True
        for old in snapshotting.expired([*actual.snapshots, name], self.wanted.snapshots_kept):
            try:
                self.backend.delete_snapshot(self.vmid, old)
            except ProxmoxError as error:
                self.host.log(f"{error}; it stays", log_func=logger.warning)

    def _set(self, found: Plan) -> None:
        showing.show(self.host, found)
        change, digest = found.difference, _there(found).digest
        if change.reverts:
            # Alone: what is left is looked at anew.
            self._tell(self.backend.set(self.vmid, {}, (), digest, change.reverts))
        else:
            options, deletes = change.options, change.deletes
            self._tell(self.backend.set(self.vmid, options, deletes, digest))

    def _grow(self, found: Plan) -> None:
        for disk, size in found.difference.growths:
            if disk in self.full:
                continue
            try:
                with telling(self.host, f"growing {disk} of CT {self.vmid} to {size}"):
                    self._tell(self.backend.resize(self.vmid, disk, size))
            except AlreadySo:
                self.full.add(disk)
                self.host.log(doubts.full(self.vmid, disk), log_func=logger.warning)

    def _migrate(self, found: Plan) -> None:
        assert found.raw is not None and found.text is not None
        for line in showing.raw_lines(found):
            say(self.host, line)
        self.way.rewrite(found.text, found.raw)

    def _start(self, found: Plan) -> None:
        restarting.start(self.host, self.backend)

    def _forget(self, found: Plan) -> None:
        restarting.forget(self.host)

    def _tell(self, warnings: Sequence[str]) -> None:
        """What Proxmox warned of although it did it."""
        for line in warnings:
            said = f"CT {self.vmid}: Proxmox warns: {printable(line)}"
            self.host.log(said, log_func=logger.warning)

    def _start_again(self) -> None:
        """What ran before a change that failed runs after it."""
        if self.stopped:
            restarting.start_again(self.host, self.backend)


def _there(found: Plan) -> Configuration:
    assert found.actual is not None
    return found.actual
