"""The near end of the agent on one Proxmox node: run commands, in it and in its containers.

Plain `threading` and `queue`: where gevent has patched them they are cooperative, so that the same
class serves pyinfra's greenlets, testinfra and the command line. All methods may be called from
several threads at once.
"""

import contextlib
import itertools
import json
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from stoker.pct import bundle, errors
from stoker.pct.agent import frames
from stoker.pct.stream import Stream
from stoker.pct.words import shell_text

WINDOW = 4 * frames.SLICE  # bytes of standard input under way before the agent has passed them on
GONE = 0  # not a frame: the connection ended
MARGIN_S = 40.0  # beyond a command's own limit, for the agent to kill it and tell

OnOutput = Callable[[str, bytes], None]


@dataclass(frozen=True)
class Result:
    """How a command ended: its exit code (128+n: killed by signal n) and both outputs, as bytes."""

    code: int
    stdout: bytes
    stderr: bytes

    def require(self, what: str) -> "Result":
        """Itself if the command succeeded; else CommandFailed. `what` is what it was to do."""
        if self.code != 0:
            said = " ".join(self.stderr.decode("utf-8", "replace").split())[-500:] or "no message"
            raise errors.CommandFailed(
                f"cannot {what}: the command ended with {self.code}: {said}; correct it there"
            )
        return self


class Node:
    """One agent on one node. `name` is what messages call the node.

    `facts`: "node" (its host name), "uid" (of the agent), "pct" (whether it is a Proxmox node).
    Raises Unreachable if the agent does not start.
    """

    def __init__(self, name: str, stream: Stream, *, connect_timeout_s: float = 20.0) -> None:
        self.name = name
        self._stream = stream
        self._writing = threading.Lock()
        self._numbers = itertools.count(1)
        self._events: dict[int, queue.Queue[tuple[int, Any]]] = {0: queue.Queue()}
        self.alive = True
        self._ended = threading.Event()
        with contextlib.suppress(OSError):  # then the listener hears of the end, and its reason
            self._write(bundle.payload())
        for work in (self._listen, self._ping):
            threading.Thread(target=work, name=f"pct {name}", daemon=True).start()
        self.facts = self._hello(connect_timeout_s)

    def run(
        self,
        command: Sequence[str] | str | None,
        *,
        vmid: int | None = None,
        stdin: IO[bytes] | None = None,
        timeout: float | None = None,
        lock: str | None = None,
        on_output: OnOutput | None = None,
    ) -> Result:
        """Run a command as root in container `vmid`, or on the node itself.

        command: words, which arrive unchanged and meet no shell; or a text for `/bin/sh -c` there;
            None runs nothing, for taking the lock alone.
        stdin: what it reads; without it /dev/null.
        timeout: seconds, after which it is killed with all its processes (TimedOut).
        lock: who asks. The lock of `vmid` is taken first (Busy) and held until `close`.
        on_output: gets ("stdout" or "stderr", bytes) as they come; the Result is then empty.

        An exit code that is not 0 is no error here; all of `stoker.pct.errors` may be raised.
        """
        text = None if command is None else shell_text(command)
        asked = {"vmid": vmid, "text": text, "stdin": stdin is not None, "lock": lock}
        kept = {"stdout": bytearray(), "stderr": bytearray()}
        emit = on_output or (lambda name, data: kept[name].extend(data))
        number = next(self._numbers)
        self._events[number] = queue.Queue()
        answer: dict[str, Any] = {}
        try:
            self._begin(number, {**asked, "timeout": timeout})
            answer = self._follow(number, stdin, emit, timeout)
        finally:
            del self._events[number]
            if not answer and self.alive:
                # Interrupted here, by a signal or a greenlet's time limit: nobody waits for it.
                with contextlib.suppress(OSError):
                    self._write(frames.pack(frames.CANCEL, number))
        if "error" in answer:
            raise errors.from_answer(answer, self.name, vmid, timeout)
        return Result(answer["code"], bytes(kept["stdout"]), bytes(kept["stderr"]))

    def lock(self, vmid: int, who: str) -> None:
        """Hold the lock of a container until `close`; Busy names who has it."""
        self.run(None, vmid=vmid, lock=who)

    def close(self) -> None:
        """End the agent, with all that it still runs, and free its locks."""
        self.alive = False
        self._ended.set()
        self._stream.close()

    def _begin(self, number: int, asked: dict[str, Any]) -> None:
        try:
            if not self.alive:
                raise OSError("the connection is closed")
            self._write(frames.pack_json(frames.CALL, number, asked))
        except OSError as error:
            raise errors.Unreachable(
                f"cannot reach node {self.name}: {error}; nothing was run, try again"
            ) from error

    def _follow(
        self, number: int, stdin: IO[bytes] | None, emit: OnOutput, timeout: float | None
    ) -> dict[str, Any]:
        """Feed and listen until the agent has answered."""
        room = WINDOW
        patience = None if timeout is None else timeout + MARGIN_S
        while True:
            while stdin is not None and room > 0:
                data = stdin.read(min(room, frames.SLICE))
                self._write(frames.pack(frames.DATA if data else frames.END, number, data))
                room -= len(data)
                stdin = stdin if data else None
            try:
                kind, body = self._events[number].get(timeout=patience)
            except queue.Empty:
                raise self._lost("it does not answer") from None
            if kind == frames.DONE:
                answer: dict[str, Any] = json.loads(body)
                return answer
            if kind == frames.TAKEN:
                room += int.from_bytes(body, "big")
            elif kind == GONE:
                raise self._lost("the connection ended")
            else:
                emit("stdout" if kind == frames.OUT else "stderr", body)

    def _lost(self, why: str) -> errors.Lost:
        said = self._stream.last_words()
        return errors.Lost(
            f"cannot tell how the command on node {self.name} ended: {why}"
            f"{f' ({said})' if said else ''}; look at what it did before running it again"
        )

    def _hello(self, timeout_s: float) -> dict[str, Any]:
        try:
            kind, body = self._events[0].get(timeout=timeout_s)
        except queue.Empty:
            kind, body = GONE, b""
        del self._events[0]
        if kind == GONE:
            self.close()
            said = self._stream.last_words() or "it says nothing"
            raise errors.Unreachable(
                f"cannot start the agent on node {self.name}: {said}; it needs Python 3.9 or later "
                "as /usr/bin/python3 and a login shell that prints nothing"
            )
        facts: dict[str, Any] = json.loads(body)
        return facts

    def _write(self, data: bytes) -> None:
        with self._writing:
            self._stream.write(data)

    def _listen(self) -> None:
        decoder = frames.Decoder()
        # An error in reading is an end like any other: those who wait are told below.
        with contextlib.suppress(OSError):
            said = b""
            while frames.MAGIC not in said and (data := self._stream.read()):
                said += data
            self._hand_on(decoder.feed(said.partition(frames.MAGIC)[2]))
            while data := self._stream.read():
                self._hand_on(decoder.feed(data))
        self.alive = False
        self._ended.set()
        for events in list(self._events.values()):
            events.put((GONE, b""))

    def _hand_on(self, come: Iterator[frames.Frame]) -> None:
        for kind, number, body in come:
            if events := self._events.get(number):
                events.put((kind, body))

    def _ping(self) -> None:
        with contextlib.suppress(OSError):
            while not self._ended.wait(frames.PING_S):
                self._write(frames.pack(frames.PING, 0))

    def require(self) -> None:
        """Raise NotRoot or NoPct unless containers can be entered from here."""
        if self.facts["uid"] != 0:
            raise errors.NotRoot(
                f"cannot enter containers of {self.name}: its user has uid {self.facts['uid']}; "
                "connect as root (ssh_user)"
            )
        if not self.facts["pct"]:
            raise errors.NoPct(
                f"cannot enter containers of {self.name}: it has no /usr/sbin/pct and lxc-attach, "
                "so it is not a Proxmox VE node; correct pct_host"
            )
