"""A command with a process and pipes of its own, for one that reads standard input."""

import os
from typing import Dict, List

from stoker.pct.agent.call import Call
from stoker.pct.agent.loop import Loop
from stoker.pct.agent.pipes import Intake, Outbox, pipe, spawn
from stoker.pct.agent.processes import Family
from stoker.pct.agent.shell import LINGER_S


class Once:
    """Runs the call in a process of its own: exit code, both outputs, and input as it comes."""

    def __init__(
        self,
        loop: Loop,
        outbox: Outbox,
        words: List[str],
        env: Dict[str, str],
        spared: int,
        call: Call,
    ) -> None:
        self._loop, self._call = loop, call
        stdin, self._stdin = pipe()
        (out, out_end), (err, err_end) = pipe(), pipe()
        for end in (out, err):
            os.fchmod(end, 0o622)
        pid = spawn(words, env, {0: stdin, 1: out_end, 2: err_end})
        family = Family(pid, spared)
        for end in (stdin, out_end, err_end):
            os.close(end)
        os.set_blocking(self._stdin, False)
        self._code = -1
        self._outputs = [Intake(loop, outbox, out), Intake(loop, outbox, err)]
        for output, take in zip(self._outputs, (call.out, call.err)):
            output.take, output.ended = take, self._closer(output)
        call.on_stdin = self._feed
        call.began(lambda: family.since(0))
        loop.ended(pid, self._ended)
        self._feed()

    def _feed(self) -> None:
        if self._stdin >= 0:
            self._loop.writer(self._stdin, self._write if self._call.stdin else None)
            if not self._call.stdin and self._call.stdin_ended:
                os.close(self._stdin)
                self._stdin = -1

    def _write(self) -> None:
        data = self._call.stdin.pop(0)
        try:
            sent = os.write(self._stdin, data)
        except BlockingIOError:
            sent = 0
        except BrokenPipeError:
            sent = len(data)  # it does not read it: no error of ours, and none to wait for
        if sent < len(data):
            self._call.stdin.insert(0, data[sent:])
        if sent:
            self._call.taken(sent)
        self._feed()

    def _closer(self, output: Intake) -> "Closer":
        return Closer(self, output)

    def _ended(self, code: int) -> None:
        self._code = code
        self._patience = self._loop.later(LINGER_S, self.finish)
        self.settle()

    def settle(self) -> None:
        """Answer once it has ended and nobody holds its outputs."""
        if self._code >= 0 and all(output.fd < 0 for output in self._outputs):
            self.finish()

    def finish(self) -> None:
        """Answer now; whoever still writes writes to nowhere."""
        self._patience.cancel()
        for output in self._outputs:
            if output.fd >= 0:
                output.drain()  # a slow client may have kept us from reading all it wrote
                output.to_nowhere()
        if self._stdin >= 0:
            self._loop.writer(self._stdin, None)
            os.close(self._stdin)
            self._stdin = -1
        self._call.done(self._code)


class Closer:
    """Closes an output at its end and sees whether that was the last thing to wait for."""

    def __init__(self, once: Once, output: Intake) -> None:
        self._once, self._output = once, output

    def __call__(self) -> None:
        self._output.close()
        self._once.settle()
