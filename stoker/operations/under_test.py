"""A running server while it is measured: asked by programs of ours, and watched that it stays."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gevent
from pyinfra import logger
from pyinfra.api import OperationError, QuoteString, StringCommand

from stoker.diagnosis.secrecy import Hiding
from stoker.facts.startup import Look, Startup, Tokens
from stoker.operations.following import question
from stoker.operations.ticking import ticking
from stoker.serving.evidence.checked import Checked
from stoker.serving.programs import program
from stoker.serving.unit import Unit

OVER_S = 150
"""What a program of ours may need beyond the time limit that it keeps by itself."""
DYING_S = 15
"""For so long a server that answers no more may take to die: its workers go first."""
Lease = Callable[[float], None]
"""Told before each long command for how many seconds nothing else will be heard of the run."""


@dataclass(frozen=True)
class UnderTest:
    """One server, and the process that has to be the same at the end."""

    host: Any
    unit: Unit
    checked: Checked
    lease: Lease
    first: Look

    def refused(self, what: str) -> OperationError:
        """The error that ends the proof: `what` is one clause or several."""
        return OperationError(f"cannot prove {self.unit.flagset} by {self.unit.name}: {what}")

    def hidden(self, text: str) -> str:
        """The text without the unit's secrets."""
        return Hiding([value for _, value in self.unit.secrets]).text(text)

    def say(self, text: str) -> None:
        """A line of the run's log."""
        self.host.log(f"{self.unit.name}: {text}", log_func=logger.info)

    def told(
        self, name: str, asked: Mapping[str, Any], time_limit_s: int, doing: str
    ) -> dict[str, Any]:
        """What `inside/<name>.py` printed; its `error` is null, or one clause.

        Raises if the server's process ended meanwhile.
        """
        place = {"url": self.unit.local_url, "pid": self.first.main_pid}
        question = json.dumps({**asked, **place, "time_limit_s": time_limit_s})
        bound = ("timeout", "--kill-after=5", str(time_limit_s + OVER_S))
        words = (*bound, self.unit.python, "-I", "-c", program(name), question)
        self.lease(time_limit_s + OVER_S)
        with ticking(lambda after: self.say(f"{doing}: {after:.0f} s")):
            _, output = self.host.run_shell_command(StringCommand(*map(QuoteString, words)))
        told = _last_object(output)
        self.stays(f"during the {doing}", DYING_S if told["error"] else 0)
        return told

    def stays(self, when: str, seconds: int = 0) -> None:
        """Raises if the process is not the same any more, now or within so many seconds."""
        look: Look | None = None
        for _ in range(seconds + 1):
            look = self.host.get_fact(Startup, unit=self.unit.name, port=self.unit.port)
            if look is None or not self._same(look):
                break
            if seconds:
                gevent.sleep(1)
        else:
            return
        if look is None:
            raise self.refused(f"its unit is gone {when}; see who removed it")
        raise self.refused(
            f"its process ended {when} ({look.result}, status {look.status}, "
            f"{look.restarts - self.first.restarts} restart(s) since); correct what its log names"
        )

    def answers(self) -> None:
        """Raises if it gives no token any more."""
        asked = question(self.unit, self.first.main_pid or 0)
        answer = self.host.get_fact(Tokens, questions=(asked,)).get(self.unit.name)
        error = answer.error if answer else "nobody could be asked"
        self.stays("after the measurement", DYING_S if error else 0)
        if error:
            told = self.hidden(error)
            raise self.refused(f"it gives no token after the burst: {told}; see its log")

    def _same(self, look: Look) -> bool:
        return (look.main_pid, look.invocation) == (self.first.main_pid, self.first.invocation)


def under_test(host: Any, unit: Unit, checked: Checked, lease: Lease) -> UnderTest:
    """The server as it runs now; raises if it does not."""
    look: Look | None = host.get_fact(Startup, unit=unit.name, port=unit.port)
    if look is None or look.active != "active" or not look.main_pid or not look.listens:
        state = f"{look.active} ({look.sub})" if look else "unknown to systemd"
        raise OperationError(
            f"cannot prove {unit.flagset} by {unit.name}: it is {state} and does not listen on "
            f"port {unit.port}; bring it up first"
        )
    return UnderTest(host, unit, checked, lease, look)


def _last_object(output: Any) -> dict[str, Any]:
    lines = output.stdout_lines
    if lines and lines[-1].startswith("{"):
        told: dict[str, Any] = json.loads(lines[-1])
        return told
    last = (output.stderr.strip().splitlines() or ["without a word"])[-1]
    return {"error": f"the program that asks it ended: {last}"}
