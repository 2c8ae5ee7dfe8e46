"""Is a starting server ready, dead, stalled or at work? Decided from looks at it, no clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol


class State(Protocol):
    """What of a look at a unit is judged; `stoker.facts.startup.Look` is one."""

    @property
    def active(self) -> str: ...
    @property
    def sub(self) -> str: ...
    @property
    def queued(self) -> bool: ...
    @property
    def restarts(self) -> int: ...
    @property
    def result(self) -> str: ...
    @property
    def status(self) -> int: ...
    @property
    def invocation(self) -> str: ...
    @property
    def ticks(self) -> int: ...
    @property
    def io_bytes(self) -> int: ...
    @property
    def listens(self) -> bool: ...
    @property
    def cursor(self) -> str: ...
    @property
    def lines(self) -> tuple[str, ...]: ...
    @property
    def began(self) -> bool: ...


BEFORE = "start-pre"
"""systemd's SubState while the unit waits for its GPUs; its own time limit bounds that."""
REFUSAL = "cannot start: "
"""How that wait ends its sentence when it was in vain, see `inside/await_gpus.py`."""


@dataclass(frozen=True)
class Patience:
    """When waiting is over although nothing died. Loading takes long: time alone ends nothing."""

    idle_s: float = 300
    """No new log line and next to no CPU or I/O for so long: it waits for something."""
    silent_s: float = 1800
    """No new log line for so long, though busy: a deadlock that spins looks like work."""
    busy_ticks_per_s: float = 5
    """CPU below this is a poll loop's (100 ticks a second are one core)."""
    busy_io_bytes_per_s: float = 1 << 20


class Verdict(Enum):
    """What to do with a server that is being followed."""

    WAIT = auto()
    ASK = auto()
    """Its main process listens: ask for a token."""
    DEAD = auto()
    STALLED = auto()


@dataclass
class Following:
    """The course of one start. `began` and every `now` are seconds of one monotonic clock."""

    began: float
    patience: Patience = Patience()
    first: State | None = None
    last: State | None = None
    """The last look at this start; after a death too, unless the next start has begun."""
    seen: float = 0
    line_at: float = 0
    work_at: float = 0
    why: str = ""
    """After DEAD and STALLED: what is, in words."""

    @property
    def invocation(self) -> str:
        """systemd's id of the start that is followed; empty: none was seen."""
        start = self.first or self.last
        return start.invocation if start else ""

    def judge(self, look: State | None, now: float) -> Verdict:
        """The verdict after this look; None: systemd knows no such unit."""
        death = _death(self.first, look)
        if look is None or death:
            self.why = death
            if look and (self.first is None or look.invocation == self.first.invocation):
                self.last = look
            return Verdict.DEAD
        self._note(look, now)
        if look.listens and look.active == "active":
            return Verdict.ASK
        return self._stall(now)

    def _note(self, look: State, now: float) -> None:
        if self.last is None:
            self.line_at = self.work_at = now
        else:
            elapsed = max(now - self.seen, 0.001)
            if look.cursor != self.last.cursor:
                self.line_at = now
            ticks, read = look.ticks - self.last.ticks, look.io_bytes - self.last.io_bytes
            # A sum that falls means that a process ended: that is work too.
            if (
                ticks < 0
                or look.sub == BEFORE
                or ticks / elapsed > self.patience.busy_ticks_per_s
                or read / elapsed > self.patience.busy_io_bytes_per_s
            ):
                self.work_at = now
        if self.first is None and look.invocation and not look.queued:
            self.first = look
        self.last, self.seen = look, now

    def _stall(self, now: float) -> Verdict:
        silent, idle = now - self.line_at, now - max(self.line_at, self.work_at)
        if idle >= self.patience.idle_s:
            self.why = f"no log line and no work for {idle:.0f} s"
        elif silent >= self.patience.silent_s:
            self.why = f"busy, but no log line for {silent:.0f} s"
        else:
            return Verdict.WAIT
        return Verdict.STALLED

    def unanswered(self, error: str, now: float) -> Verdict:
        """It listens but gave no token: `error` says what came instead."""
        verdict = self._stall(now)
        if verdict is Verdict.STALLED:
            self.why += f", and no token ({error})"
        return verdict


def _death(first: State | None, look: State | None) -> str:
    """Why this start is over; empty while it is not."""
    if look is None:
        return "there is no such unit"
    if look.queued and look.active in ("inactive", "failed"):
        return ""
    restarted = first is not None and (
        look.restarts > first.restarts or look.invocation != first.invocation
    )
    if restarted or look.sub == "auto-restart" or look.active in ("failed", "inactive"):
        if not look.began:
            return f"it was not started: {_refusal(look)}"
        return f"its main process ended: {look.result}, status {look.status}"
    return ""


def _refusal(look: State) -> str:
    """Why what runs before the server let it not start: its own sentence, else systemd's word."""
    said = next((line for line in reversed(look.lines) if line.startswith(REFUSAL)), "")
    return said.removeprefix(REFUSAL) or look.result


def waves(units: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """(unit, flag set) pairs -> the order of starting: one of each flag set, then all the others.

    The first one fills the kernel cache for its sisters and proves the flags before they stop.
    """
    first: dict[str, str] = {}
    for unit, flagset in units:
        first.setdefault(flagset, unit)
    leaders = tuple(first.values())
    rest = tuple(unit for unit, _ in units if unit not in leaders)
    return tuple(wave for wave in (leaders, rest) if wave)
