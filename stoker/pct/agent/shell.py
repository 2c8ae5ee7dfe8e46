"""A shell that stays in a container (or on the node) and runs one command after another.

It reads its script from a pipe. A command's output does not go through pipes that the shell itself
holds: the shell has only `O_PATH` descriptors of them and opens them anew for each command through
/proc/self/fd. So the end of the pipe is real: it comes when nobody of that command holds it any
more, and a process that was left behind is noticed without looking for it.
"""

import os
import signal
from typing import Callable, Dict, List, Optional

from stoker.pct.agent.call import Call
from stoker.pct.agent.loop import Loop
from stoker.pct.agent.output import Output
from stoker.pct.agent.pipes import Intake, Outbox, pipe, spawn
from stoker.pct.agent.processes import Family, now_ticks, signal_all

ENTER_S = 20.0  # for lxc-attach and the first word of the shell
LINGER_S = 2.0  # for processes that outlive their command and hold its output

START = (
    'umask 022; : "${HOME:=/root}" "${LANG:=C.UTF-8}"; export HOME LANG; '
    'cd "$HOME" 2>/dev/null || cd /; unset OLDPWD\n'
)
READY = ': >/proc/self/fd/4; : >/proc/self/fd/5; echo "ready $$" >&3\n'
COMMAND = (
    '( %s ) </dev/null >/proc/self/fd/4 2>/proc/self/fd/5 3>&- 4<&- 5<&-\necho "done $?" >&3\n'
)


class Shell:
    """One such shell. `idle(shell)` when it can take a command, `failed(words)` if it never can.

    `spared` as in Family: 1 for a shell on the node, 2 for one behind `lxc-attach`.
    """

    def __init__(
        self,
        loop: Loop,
        outbox: Outbox,
        words: List[str],
        env: Dict[str, str],
        spared: int,
        idle: "Callable[[Shell], None]",
        failed: Callable[[str], None],
    ) -> None:
        self._loop, self._idle, self._failed = loop, idle, failed
        self._call: Optional[Call] = None
        self._ready, self.alive = False, True
        script, self._script = pipe()
        control, control_end = pipe()
        noise, noise_end = pipe()
        self._outputs = [Output(loop, outbox), Output(loop, outbox)]
        places = {0: script, 1: noise_end, 2: noise_end, 3: control_end}
        places.update({4 + n: output.path for n, output in enumerate(self._outputs)})
        self._pid = spawn(words, env, places)
        self._family = Family(self._pid, spared)
        for end in (script, control_end, noise_end):
            os.close(end)
        os.set_blocking(self._script, False)
        self._said, self._noise = b"", bytearray()
        self._control, self._noises = Intake(loop, outbox, control), Intake(loop, outbox, noise)
        self._control.take, self._control.ended = self._hear, self._gone
        self._noises.take, self._noises.ended = self._noise.extend, self._noises.close
        loop.ended(self._pid, lambda _: None)
        self._patience = loop.later(ENTER_S, self._too_late)
        self._tell(START + READY)

    def run(self, call: Call) -> None:
        """Run the text of `call`. Only when idle."""
        self._call = call
        for output, take in zip(self._outputs, (call.out, call.err)):
            output.open(take, self._settled)
        began = now_ticks()
        call.began(lambda: self._family.since(began))
        self._tell(COMMAND % call.text)

    def leave(self) -> None:
        """Let it end after what it does now; what still writes there writes to nowhere."""
        if self.alive:
            self.alive = False
            self._patience.cancel()
            self._loop.writer(self._script, None)
            os.close(self._script)
            for intake in (self._control, self._noises):
                intake.to_nowhere()
            for output in self._outputs:
                output.forget()

    def _tell(self, text: str) -> None:
        self._pending = memoryview(text.encode("utf-8", "surrogateescape"))
        self._loop.writer(self._script, self._write)
        self._write()

    def _write(self) -> None:
        try:
            self._pending = self._pending[os.write(self._script, self._pending) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._pending = self._pending[:0]  # it ended: the control pipe says so too
        if not self._pending:
            self._loop.writer(self._script, None)

    def _hear(self, data: bytes) -> None:
        self._said += data
        if self._said.endswith(b"\n"):
            word, value = self._said.split()
            self._said = b""
            if word == b"done":
                self._finish(int(value))
            else:
                self._ready = True
                self._patience.cancel()
                self._idle(self)

    def _finish(self, code: int) -> None:
        self._code = code
        self._patience = self._loop.later(LINGER_S, self._left_behind)
        for output in self._outputs:
            output.settle()

    def _settled(self) -> None:
        if all(output.settled for output in self._outputs):
            self._patience.cancel()
            self._answer()

    def _left_behind(self) -> None:
        # Something the command left behind holds its output: it may go on, but not into the
        # output of the next command.
        self._answer(leave=True)

    def _answer(self, leave: bool = False) -> None:
        call, self._call = self._call, None
        assert call is not None
        self._noises.drain()
        # The shell's own words, such as that it cannot fork; of a death by signal the code tells.
        if self._noise and self._code <= 128:
            call.err(bytes(self._noise))
        self._noise.clear()
        call.done(self._code)
        if leave or call.over:  # being killed: what is done to its processes must hit no other
            self.leave()
        else:
            self._idle(self)

    def _gone(self) -> None:
        call, self._call = self._call, None
        self._noises.drain()
        self.leave()
        if not self._ready:
            self._failed(self._noise.decode("utf-8", "replace").strip())
        elif call is not None:
            call.end("lost")

    def _too_late(self) -> None:
        signal_all(Family(self._pid, spared=0).since(0), signal.SIGKILL)
        self._noise += b"no answer from it in %d s" % ENTER_S
        self._gone()
