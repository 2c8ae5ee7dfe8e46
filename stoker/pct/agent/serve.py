"""The agent: takes calls from its standard input, runs them, answers on its standard output."""

import json
import os
import pwd
import signal
import socket
import time
from typing import Any, Dict, List, Optional, Set

from stoker.pct.agent import checks, frames
from stoker.pct.agent.call import Call
from stoker.pct.agent.locks import Locks
from stoker.pct.agent.loop import Loop
from stoker.pct.agent.once import Once
from stoker.pct.agent.pipes import Intake, Outbox
from stoker.pct.agent.shell import START, Shell

SPARE = 4  # idle shells kept for one container
# With a container that is frozen (a snapshot takes about a second) or busy (a run that was killed
# just now still ends what it ran).
PATIENCE_S = 6.0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SHELL = "/bin/sh"
ATTACH = "/usr/bin/lxc-attach"
PCT = "/usr/sbin/pct"


class Agent:
    """All that runs on this node for one client."""

    def __init__(self, loop: Loop, outbox: Outbox) -> None:
        self._loop, self._outbox = loop, outbox
        self._locks = Locks()
        self._calls: Dict[int, Call] = {}
        self._idle: Dict[Optional[int], List[Shell]] = {}
        self._cgroups = checks.cgroup_root()
        self._env = {"PATH": PATH, "HOME": pwd.getpwuid(os.getuid()).pw_dir, "LANG": "C.UTF-8"}
        self._decoder = frames.Decoder()
        self._heard = time.monotonic()  # when the client last sent anything

    def hello(self) -> Dict[str, Any]:
        """What the client must know of this node before it relies on it."""
        return {
            "node": socket.gethostname(),
            "uid": os.getuid(),
            "pct": os.access(PCT, os.X_OK) and os.access(ATTACH, os.X_OK),
            "pid": os.getpid(),
        }

    def deserted(self) -> bool:
        """Whether its locks are held for a client that is gone."""
        return self._locks.any() and time.monotonic() - self._heard > frames.SILENCE_S

    def take(self, data: bytes) -> None:
        """Bytes of the client."""
        self._heard = time.monotonic()
        for kind, number, body in self._decoder.feed(data):
            if kind == frames.CALL:
                self._begin(Call(self._loop, self._outbox, number, json.loads(body)))
                continue
            call = self._calls.get(number)
            if call is None or call.answered:
                continue
            if kind == frames.DATA:
                call.stdin.append(body)
                call.on_stdin()
            elif kind == frames.END:
                call.stdin_ended = True
                call.on_stdin()
            elif kind == frames.CANCEL:
                call.end("cancelled")

    def _begin(self, call: Call) -> None:
        self._calls = {n: known for n, known in self._calls.items() if not known.answered}
        self._calls[call.number] = call
        self._start(call, time.monotonic() + PATIENCE_S)

    def _start(self, call: Call, patience: float) -> None:
        """Run it, or say why not: at once, or at the time `patience` for what passes by itself."""
        if call.answered:
            return
        shells = self._idle.setdefault(call.vmid, [])
        shells[:] = [shell for shell in shells if shell.alive]
        try:
            if call.vmid is not None:
                self._check(call, call.vmid, known=bool(shells) and not call.has_stdin)
            if call.text is None:
                call.done(0)
            else:
                self._run(call, shells)
        except checks.Refusal as refusal:
            if refusal.passing and time.monotonic() < patience:
                self._loop.later(0.1, lambda: self._start(call, patience))
            else:
                call.fail(refusal.answer)
        except OSError as error:
            call.fail({"error": "cannot-enter", "because": str(error)})

    def _check(self, call: Call, vmid: int, known: bool) -> None:
        """Raise a Refusal unless it may be entered; `known`: we are in it already."""
        if call.text is not None:
            if not known:
                checks.enterable(vmid)
            checks.not_frozen(self._cgroups, vmid)
        if call.lock is not None:
            self._locks.take(vmid, call.lock)

    def _run(self, call: Call, shells: List[Shell]) -> None:
        inside = call.vmid is not None
        way = [ATTACH, "-n", str(call.vmid), "--clear-env", "--"] if inside else []
        if call.has_stdin:
            words = [*way, SHELL, "-c", START + str(call.text)]
            Once(self._loop, self._outbox, words, self._env, int(inside), call)
        elif shells:
            shells.pop().run(call)
        else:
            self._enter(call, [*way, SHELL], shells)

    def _enter(self, call: Call, words: List[str], shells: List[Shell]) -> None:
        waiting = [call]

        def idle(shell: Shell) -> None:
            if waiting and not waiting[0].answered:
                shell.run(waiting.pop())
            elif len(shells) < SPARE:
                shells.append(shell)
            else:
                shell.leave()

        def failed(words: str) -> None:
            try:
                if call.vmid is not None:
                    checks.enterable(call.vmid)  # it may have stopped in between
            except checks.Refusal as refusal:
                call.fail(refusal.answer)
            call.fail({"error": "cannot-enter", "because": words})

        spared = 1 if call.vmid is None else 2
        Shell(self._loop, self._outbox, words, self._env, spared, idle, failed)

    def end(self) -> None:
        """End every command that still runs: its client is gone."""
        for call in self._calls.values():
            call.end("cancelled")
        open_calls: Set[Call] = {call for call in self._calls.values() if not call.answered}
        self._loop.running = True
        self._loop.run(until=lambda: all(call.answered for call in open_calls))


def main() -> None:
    """Serve the client on standard input and output until it closes them."""
    os.chdir("/")
    loop = Loop()
    outbox = Outbox(loop, 1)
    agent = Agent(loop, outbox)
    outbox.send(frames.MAGIC + frames.pack_json(frames.HELLO, 0, agent.hello()))
    client = Intake(loop, outbox, 0)

    def gone() -> None:
        client.close()
        loop.running = False

    def listen() -> None:
        if agent.deserted():
            gone()
        loop.later(frames.PING_S, listen)

    client.take, client.ended = agent.take, gone
    listen()
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGTERM, lambda *_: None)
    loop.reader(woken, gone)
    loop.run()
    loop.reader(woken, None)
    agent.end()
