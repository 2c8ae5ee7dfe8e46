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
    """One switch of one host, from `begin` to `confirm` or `undo`.

    Meanwhile it is said in the container again and again that the run lives: as long as the process
    does, and as long as the run goes on and does not hang in a command.
    """

    def __init__(self, host: Any, lease: Lease) -> None:
        self.host, self.lease = host, lease
        self._until, self._lost = 0.0, False
        self._keeper: Any = None

    def begin(self, journal: Journal) -> None:
        """What is there is kept, what comes lies beside it; nothing has changed yet."""
        self._act("begin", "begin a switch", journal.packed)
        self.beat()
        self._keeper = gevent.spawn(self._keep)

    def apply(self) -> None:
        """What comes is in its place, and systemd has read it."""
        self._act("apply", "switch")

    def beat(self) -> None:
        """The run goes on. Raises OperationError if the container has taken it for dead."""
        self.allow(0)

    def allow(self, seconds: float) -> None:
        """The same; and it may wait for one command for so long."""
        if self._lost:
            raise OperationError(f"cannot go on with the switch: {_because('renew')}")
        self._until = time.monotonic() + seconds + self.lease.margin_s

    def confirm(self) -> None:
        """What is new stays."""
        self._act("confirm", "confirm the switch")
        self._keeper.kill(block=False)

    def undo(self) -> bool:
        """What was there is there again, and what ran is started; False if that was so before."""
        self._keeper.kill(block=False)
        was_open, _ = act(self.host, "undo", 0)
        wait_undone(self.host)
        return was_open

    def _keep(self) -> None:
        while not self._lost:
            gevent.sleep(self.lease.seconds / 4)
            if time.monotonic() < self._until:
                try:
                    done, _ = act(self.host, "renew", self.lease.seconds)
                except OSError:
                    # The line is lost; whoever waits for a command hears of it too.
                    return
                self._lost = not done

    def _act(self, verb: str, what: str, stdin: str = "") -> None:
        done, said = act(self.host, verb, self.lease.seconds, stdin)
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
