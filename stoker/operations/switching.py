"""A switch in a container: begun, kept alive, confirmed or undone, whatever becomes of the run.

The container itself undoes it where the run shows no more signs of life: `inside/put_back.sh`.
"""

import time
from typing import Any

import gevent
from pyinfra.api import OperationError, QuoteString, StringCommand

from stoker.facts.switch import Switch, SwitchState
from stoker.operations.following import PROGRESS_S, say
from stoker.serving import layout
from stoker.serving.changing.journal import Journal
from stoker.serving.changing.lease import Lease
from stoker.serving.rendering import INSIDE

UNDO_S = 900
"""Stopping what does not want to end, twice."""
UNDO_LOOK_S = 0.3


class Switching:
    """One switch of one host, from `begin` to `confirm` or `undo`."""

    def __init__(self, host: Any, lease: Lease) -> None:
        self.host, self.lease = host, lease
        self._ends = self._allowed = 0.0
        self._keeper: Any = None

    def begin(self, journal: Journal) -> None:
        """What is there is kept, what comes lies beside it; nothing has changed yet."""
        self._ends = time.monotonic() + self.lease.seconds
        self._act("begin", "begin a switch", journal.packed)
        self._keeper = gevent.spawn(self._keep)

    def apply(self) -> None:
        """What comes is in its place, and systemd has read it."""
        self._act("apply", "switch")

    def beat(self) -> None:
        """The run lives."""
        if self.lease.due(self._ends - time.monotonic()):
            self._renew(self.lease.seconds)

    def allow(self, seconds: float) -> None:
        """The run lives, and for so long it will wait for one command: meanwhile it is said for it
        that it lives, and no longer."""
        self._renew(self.lease.seconds)
        self._allowed = time.monotonic() + seconds + self.lease.margin_s

    def confirm(self) -> None:
        """What is new stays."""
        self._act("confirm", "confirm the switch")
        self._keeper.kill(block=False)

    def undo(self) -> None:
        """What was there is there again, and what ran is started."""
        self._keeper.kill(block=False)
        act(self.host, "undo", 0)
        wait_undone(self.host)

    def _keep(self) -> None:
        while True:
            gevent.sleep(self.lease.seconds / 3)
            if time.monotonic() < self._allowed:
                try:
                    act(self.host, "renew", self.lease.seconds)
                except OSError:
                    # The line is lost; whoever waits for its command hears of it too.
                    return

    def _renew(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._act("renew", "go on with the switch", seconds=seconds)

    def _act(self, verb: str, what: str, stdin: str = "", seconds: float | None = None) -> None:
        length = self.lease.seconds if seconds is None else seconds
        done, said = act(self.host, verb, length, stdin)
        if not done:
            raise OperationError(f"cannot {what}: {said or _because(verb)}")


def _because(verb: str) -> str:
    if verb == "begin":
        return "another run's is under way; wait for it to end"
    return "it was undone meanwhile, since this run showed no sign of life for too long; run again"


def act(host: Any, verb: str, seconds: float, stdin: str = "") -> tuple[bool, str]:
    """One act of `inside/switch.sh`: whether it was done, and what it said if not."""
    script = (INSIDE / "switch.sh").read_text(encoding="utf-8")
    words = [verb, str(int(seconds)), str(layout.STATE), str(layout.LEASE)]
    command = StringCommand("sh", "-c", QuoteString(script), "sh", *map(QuoteString, words))
    done, output = host.run_shell_command(command, **({"_stdin": stdin} if stdin else {}))
    return done, str(output.stderr).strip()


def wait_undone(host: Any) -> None:
    """Until put_back.sh has ended its work; raises OperationError if it does not."""
    began = told = time.monotonic()
    while state_of(host).open:
        now = time.monotonic()
        if now - began > UNDO_S:
            raise OperationError(
                f"cannot put back what served before: not done after {UNDO_S} s; see "
                f"journalctl -u {layout.PUT_BACK_UNIT} there, it is tried again and again"
            )
        if now - told >= PROGRESS_S:
            say(host, f"putting back what served before: {now - began:.0f} s")
            told = now
            # It failed, or was just ending when it was asked.
            act(host, "undo", 0)
        gevent.sleep(UNDO_LOOK_S)


def state_of(host: Any) -> SwitchState:
    """Read anew."""
    state: SwitchState = host.get_fact(Switch)
    return state
