"""One call of the client, from its CALL frame to its DONE frame."""

from typing import Any, Callable, Dict, List, Optional

from stoker.pct.agent import frames
from stoker.pct.agent.loop import Loop, Timer
from stoker.pct.agent.pipes import Outbox
from stoker.pct.agent.processes import Ending, Process


class Call:
    """What was asked, and the way back to who asked. It is answered exactly once."""

    def __init__(self, loop: Loop, outbox: Outbox, number: int, asked: Dict[str, Any]) -> None:
        self._loop, self._outbox, self.number = loop, outbox, number
        self.vmid: Optional[int] = asked.get("vmid")
        self.lock: Optional[str] = asked.get("lock")
        self.text: Optional[str] = asked.get("text")  # shell text; None: only the lock is wanted
        self.has_stdin: bool = asked.get("stdin", False)
        self._timeout_s: Optional[float] = asked.get("timeout")
        self.answered = False
        self.over = ""  # why it is being ended before its own end
        self.stdin: List[bytes] = []  # what came before its process was there
        self.stdin_ended = False
        self.on_stdin: Callable[[], None] = lambda: None
        self._members: Optional[Callable[[], List[Process]]] = None
        self._timer = Timer(lambda: None)

    def out(self, data: bytes) -> None:
        """Pass on standard output."""
        self._outbox.send(frames.pack(frames.OUT, self.number, data))

    def err(self, data: bytes) -> None:
        """Pass on standard error."""
        self._outbox.send(frames.pack(frames.ERR, self.number, data))

    def taken(self, count: int) -> None:
        """Tell that `count` bytes of standard input are gone, so that more may come."""
        self._outbox.send(frames.pack(frames.TAKEN, self.number, count.to_bytes(4, "big")))

    def began(self, members: Callable[[], List[Process]]) -> None:
        """It runs now, as the processes that `members` names; its time counts from here."""
        self._members = members
        if self._timeout_s is not None:
            self._timer = self._loop.later(self._timeout_s, lambda: self.end("timed-out"))

    def done(self, code: int) -> None:
        """It ended with this exit code; not told while its remains are being killed."""
        if not self.over:
            self._answer({"code": code})

    def fail(self, answer: Dict[str, Any]) -> None:
        """Answer with an error."""
        self._answer(answer)

    def end(self, why: str) -> None:
        """Kill what it runs, all of it, and answer `why` with what would not die."""
        if self.answered or self.over:
            return
        self.over = why
        if self._members is None:
            self.fail({"error": why, "left": []})
        else:
            Ending(self._loop, self._members, self._ended)

    def _ended(self, left: List[Process]) -> None:
        rows = [{"pid": row.pid, "name": row.name, "state": row.state} for row in left]
        self.fail({"error": self.over, "left": rows})

    def _answer(self, answer: Dict[str, Any]) -> None:
        if not self.answered:
            self.answered = True
            self._timer.cancel()
            self._outbox.send(frames.pack_json(frames.DONE, self.number, answer))
