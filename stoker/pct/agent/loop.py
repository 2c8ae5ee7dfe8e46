"""One thread, one selector: what is readable or writable, which children ended, what is due."""

import heapq
import itertools
import os
import selectors
import time
from typing import Any, Callable, Dict, List, Tuple

Callback = Callable[[], None]


class Timer:
    """Something due at a time (monotonic seconds); `cancel` makes it nothing."""

    def __init__(self, call: Callback) -> None:
        self.call = call

    def cancel(self) -> None:
        """Nothing happens when it is due."""
        self.call = _nothing


class Loop:
    """Calls back for file descriptors, timers and ended children until `running` is false."""

    def __init__(self) -> None:
        self.running = True
        self._selector = selectors.DefaultSelector()
        self._readers: Dict[int, Callback] = {}
        self._writers: Dict[int, Callback] = {}
        self._timers: List[Tuple[float, int, Timer]] = []
        self._order = itertools.count()

    def reader(self, fd: int, call: "Callback | None") -> None:
        """`call` whenever `fd` has something to read or has ended; None: no longer."""
        self._set(self._readers, fd, call)

    def writer(self, fd: int, call: "Callback | None") -> None:
        """`call` whenever `fd` can be written; None: no longer."""
        self._set(self._writers, fd, call)

    def _set(self, calls: Dict[int, Callback], fd: int, call: "Callback | None") -> None:
        known = fd in self._readers or fd in self._writers
        if call is None:
            calls.pop(fd, None)
        else:
            calls[fd] = call
        wanted = selectors.EVENT_READ if fd in self._readers else 0
        wanted |= selectors.EVENT_WRITE if fd in self._writers else 0
        if not wanted:
            if known:
                self._selector.unregister(fd)
        elif known:
            self._selector.modify(fd, wanted)
        else:
            self._selector.register(fd, wanted)

    def later(self, seconds: float, call: Callback) -> Timer:
        """`call` in `seconds`."""
        timer = Timer(call)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), timer))
        return timer

    def ended(self, pid: int, call: Callable[[int], None]) -> None:
        """`call` with the exit code (128+n for a signal) when child `pid` ends; reaps it."""
        pidfd: int = os.pidfd_open(pid)  # type: ignore[attr-defined,unused-ignore]

        def reap() -> None:
            self.reader(pidfd, None)
            os.close(pidfd)
            status = os.waitpid(pid, 0)[1]
            call(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))

        self.reader(pidfd, reap)

    def run(self, until: "Callable[[], Any] | None" = None) -> None:
        """Go on while `running` (and until `until` is true, where it is given)."""
        while self.running and not (until is not None and until()):
            for key, events in self._selector.select(self._patience()):
                # Looked up again: an earlier callback of this round may have taken it away.
                if events & selectors.EVENT_READ:
                    self._readers.get(key.fd, _nothing)()
                if events & selectors.EVENT_WRITE:
                    self._writers.get(key.fd, _nothing)()
            now = time.monotonic()
            while self._timers and self._timers[0][0] <= now:
                heapq.heappop(self._timers)[2].call()

    def _patience(self) -> "float | None":
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None


def _nothing() -> None:
    """A callback taken back."""
