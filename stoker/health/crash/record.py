"""The runs of a log, put together from what its lines show."""

from __future__ import annotations

from collections.abc import Callable

from stoker.health.crash import phases
from stoker.health.crash.line import Line
from stoker.health.crash.rule import Rule
from stoker.health.crash.runs import Candidate, Ending, Run
from stoker.health.crash.sieve import BATCHES, DECODE, Sieve

_MOST_LOOP = 8
"""Runs of a loop that are kept: its first ones."""


class Record:
    """All runs of a log that matter: the last, and the first failure of the loop that led to it."""

    def __init__(self, sieve: Sieve, stamp_of: Callable[[bytes], float | None]) -> None:
        self.sieve = sieve
        """Counts the lines that nobody reads."""
        self.stamp_of = stamp_of
        """The time of a raw line of this log."""
        self.before_next: Callable[[], None] = lambda: None
        """Called when another run begins, for what is still open in this one."""
        self.run = Run()
        self.loop: list[Run] = []
        """Failed runs before this one, each started again by systemd: the first, and the first
        that has a cause."""

    def add(self, line: Line, rule: Rule, found: dict[str, str], fatal: bool | None = None) -> None:
        """A line that a rule fits may be the cause of the run's end."""
        self.run.add(
            Candidate(
                number=line.number,
                text=line.text,
                rule=rule,
                found=found,
                rank=line.rank,
                stamp=line.stamp,
                year=line.year,
                phase=self.phase(line.rank, []),
                fatal=fatal,
                alive=self.sieve.batches(),
                origin=line.origin,
                gpu=line.gpu,
            )
        )

    def phase(self, rank: str, frames: list[str]) -> str:
        """How far that rank is; `frames`: of its traceback, if any."""
        batch = self.sieve.last_batch()
        kind = BATCHES.get(batch[1], "") if batch[0] >= self.run.first else ""
        phase = self.run.phases.of(rank, (batch[0], kind))
        framed = phases.of_frames(frames)
        if phase in (*phases.RUNNING, *phases.WARMING) and framed in ("prefill", "decode"):
            first = phase in ("ready", *phases.WARMING)
            return framed if first or framed == "prefill" else _innermost(frames, phase)
        if framed == "draft_load" and phase in phases.START:
            return framed
        return phase or framed

    def ending(self, line: Line, kind: str, status: str = "") -> None:
        """A line about the end of the run, or of a process of it."""
        self.run.ending(self.made(line, kind, status))

    def made(self, line: Line, kind: str, status: str = "") -> Ending:
        """The same, without keeping it."""
        phase = self.phase(line.rank, [])
        return Ending(line.number, line.text, line.stamp, line.year, kind, status, phase)

    def clock(self, line: Line) -> None:
        """The run has come to this line's time."""
        run = self.run
        if run.first_stamp is None:
            run.first_stamp = line.stamp
        run.last_stamp = line.stamp

    def close(self) -> None:
        """What the run's lines that nobody read add up to."""
        run, sieve = self.run, self.sieve
        run.alive = sieve.batches()
        number, kind, raw = sieve.last_batch()
        if number > run.first:
            run.served = True
            run.decoded = run.decoded or kind == DECODE
            run.alive_stamp = self.stamp_of(raw)
        run.program = sieve.program() - run.program + run.read

    def next(self, linked: bool) -> None:
        """Another run begins; `linked`: systemd itself started it after this one."""
        self.before_next()
        run = self.run
        self.close()
        if not linked:
            self.loop = []
        elif run.ready:
            self.loop = [run]
        elif run.endings or run.candidates:
            self.loop = [*self.loop, run][:_MOST_LOOP]
        self.run = Run(linked=linked, first=self.sieve.before + self.sieve.at + 1)
        self.run.program = self.sieve.program()


def _innermost(frames: list[str], phase: str) -> str:
    for frame in reversed(frames):
        if "forward_decode" in frame:
            return "decode"
        if "forward_extend" in frame:
            return "prefill"
    return phase if phase in ("prefill", "decode") else "decode"
