"""Pipes between the agent and what it runs, and the one stream back to the client."""

import fcntl
import os
import signal
from typing import Callable, Dict, List, Tuple

from stoker.pct.agent.loop import Loop

READ = 256 * 1024
MUCH = 8 * 1024 * 1024  # bytes waiting for the client: beyond, no command's output is read


def pipe() -> Tuple[int, int]:
    """A pipe (read end, write end), closed in children, its numbers clear of those they get."""
    return _high(os.pipe())


def _high(ends: Tuple[int, int]) -> Tuple[int, int]:
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 16) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


def spawn(words: List[str], env: Dict[str, str], places: Dict[int, int]) -> int:
    """Start a program in a session of its own; `places` maps its descriptors to ours.

    No signal is ignored in it: neither what Python ignores nor what nohup had ignored for us.
    """
    actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in places.items()]
    usual = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    return os.posix_spawn(words[0], words, env, file_actions=actions, setsid=True, setsigdef=usual)


class Outbox:
    """Bytes on their way to the client."""

    def __init__(self, loop: Loop, fd: int) -> None:
        os.set_blocking(fd, False)
        self._loop, self._fd = loop, fd
        self._held = bytearray()
        self._waiting: List[Callable[[], None]] = []

    def send(self, frame: bytes) -> None:
        """Queue a frame; it leaves when this round of the loop is over."""
        if not self._held:
            self._loop.writer(self._fd, self._write)
        self._held += frame

    @property
    def full(self) -> bool:
        """Whether so much waits that nothing more should be read."""
        return len(self._held) > MUCH

    def when_room(self, call: Callable[[], None]) -> None:
        """`call` once, when it is no longer full."""
        self._waiting.append(call)

    def _write(self) -> None:
        try:
            sent = os.write(self._fd, self._held)
        except BlockingIOError:
            return
        except BrokenPipeError:
            sent = len(self._held)  # the client is gone: the end of its input ends the agent
        del self._held[:sent]
        if not self._held:
            self._loop.writer(self._fd, None)
        if not self.full:
            waiting, self._waiting = self._waiting, []
            for call in waiting:
                call()


class Intake:
    """The read end of a pipe; what comes is given to `take`, the end to `ended`."""

    def __init__(self, loop: Loop, outbox: Outbox, fd: int) -> None:
        os.set_blocking(fd, False)
        self._loop, self._outbox, self.fd = loop, outbox, fd
        self.take: Callable[[bytes], None] = _to_nowhere
        self.ended: Callable[[], None] = lambda: None
        loop.reader(fd, self._read)

    def _read(self) -> None:
        if self._outbox.full and self.take is not _to_nowhere:
            self._loop.reader(self.fd, None)
            self._outbox.when_room(self._again)
            return
        try:
            data = os.read(self.fd, READ)
        except BlockingIOError:
            return
        if data:
            self.take(data)
        else:
            self.ended()

    def _again(self) -> None:
        if self.fd >= 0:
            self._loop.reader(self.fd, self._read)

    def drain(self) -> bool:
        """Take all that is there now; whether nobody holds the other end any more."""
        for _ in range(8):  # more than a pipe holds; one that still fills it is read as it comes
            try:
                data = os.read(self.fd, READ)
            except BlockingIOError:
                return False
            if not data:
                return True
            self.take(data)
        return False

    def to_nowhere(self) -> None:
        """Read on until the end, so that whoever writes there never waits, and forget it."""
        self.take, self.ended = _to_nowhere, self.close
        self._again()

    def close(self) -> None:
        """Stop reading."""
        if self.fd >= 0:
            self._loop.reader(self.fd, None)
            os.close(self.fd)
            self.fd = -1


def _to_nowhere(_: bytes) -> None:
    """Nobody waits for it any more."""
