"""The lines of a log, sorted into the runs of a server."""

from __future__ import annotations

import re

from stoker.health.crash import phases, rules, sayings
from stoker.health.crash.glancing import Words, boring
from stoker.health.crash.line import KERNEL, PROGRAM, SYSTEMD, Line
from stoker.health.crash.options import Options
from stoker.health.crash.peeling import peel
from stoker.health.crash.prefixes import Prefixes
from stoker.health.crash.quoting import OPENS, Quoting
from stoker.health.crash.raised import Raised
from stoker.health.crash.runs import Candidate, Ending, Run
from stoker.health.crash.sieve import (
    BATCHES,
    BORING,
    DECODE,
    FOREIGN,
    NEW,
    PREFILL,
    Glance,
    Sieve,
)
from stoker.health.crash.systemd import named_as_server, said_by_systemd, unit_of
from stoker.health.crash.tracebacks import Tracebacks

_MOST_LOOP = 8
"""Runs of a loop that are kept: its first ones."""
_GONE_S = 3.0
"""A start of the next run is not told from the end of this one in less."""


class Reading:
    """All runs of a log that matter: the last, and the first failure of the loop that led to it."""

    def __init__(self, version: str = "") -> None:
        self.version = version
        """SGLang's; empty: not known, no line of a log says it."""
        self.run = Run()
        self.loop: list[Run] = []
        """Failed runs before this one, each started again by systemd: the first, and the first
        that has a cause."""
        self.tracebacks = Tracebacks()
        self.sieve = Sieve(self.read, self._glance)
        self.words = Words()
        self.prefixes = Prefixes(self.sieve.known.clear)
        self.quoting = Quoting()
        self.served_by_name = False
        """Whether a unit of the journal is the server's by its name."""
        self.year: int | None = None
        self.options = Options()
        self.broken_off = False
        """The log ends inside of a traceback, before its exception."""
        self.letters = rules.letters() | phases.LETTERS
        self.letters |= {"serv"}

    def read(self, number: int, raw: bytes, sieve: Sieve) -> tuple[int, bool]:
        """One line that is not known to be boring."""
        if self._glance() and not self.tracebacks.streams and boring(raw):
            return BORING, False
        line = peel(number, raw, self.prefixes.without)
        if self.quoting.holds(line):
            return NEW, True
        if line.year is not None:
            self.year = line.year
        if line.origin == SYSTEMD:
            kind = self._systemd(line)
        elif line.origin == KERNEL:
            kind = self._kernel(line)
        else:
            kind = self._program(line)
        if kind == NEW and line.origin == PROGRAM:
            self.run.read += 1
        if line.stamp is not None and (kind == NEW or self.run.first_stamp is None):
            self._clock(line)
        return kind, bool(self.tracebacks.streams or self.quoting.opened)

    def _glance(self) -> Glance | None:
        """None: a log with a prefix of its own is read in full."""
        if self.quoting.opened or self.prefixes.known or self.run.first_stamp is None:
            return None
        return self.words.found

    def end(self) -> None:
        """The log is over."""
        every = self.tracebacks.streams.values()
        self.broken_off = any(one.raised is None and one.frames for one in every)
        for raised in self.tracebacks.rest():
            self._raised(raised)
        self._close()

    # What the program says

    def _program(self, line: Line) -> int:
        text = line.text
        if text.startswith(("Decode batch", "Prefill batch")):
            if self.tracebacks.streams:
                self._traced(line)
            return DECODE if text[0] == "D" else PREFILL
        if text.startswith(OPENS):
            if self.tracebacks.streams:
                self._traced(line)
            return NEW if self.quoting.opened else BORING
        if not text.strip() and not self.tracebacks.streams:
            return FOREIGN
        if ' HTTP/1.1" 200' in text and '"POST /' in text and not self.run.phases.last:
            self.run.served = True
        if text.startswith("  ") and "[--" in text:
            self.options.learn(text)
        new = False
        if self.tracebacks.streams or self._structure(line):
            new = self._traced(line)
        if line.voice == "nccl":
            return self._voiced(line, "nccl")
        if line.voice == "torch":
            return self._voiced(line, "torch")
        if text[: rules.KEY] in self.letters:
            new = self._message(line) or new
        for mark, pattern, voice in sayings.SAYINGS:
            if mark in text:
                new = self._said(line, pattern, voice) or new
        ended = self._ended(line)
        return NEW if new or ended else BORING

    @staticmethod
    def _structure(line: Line) -> bool:
        """Whether a traceback, or an exception, may begin here."""
        text = line.text
        if text.startswith("  "):
            return text.lstrip(" ").startswith('File "')
        if text.endswith("(most recent call last):"):
            return True
        name = text[:120].partition(":")[0]
        return name.endswith(("Error", "Exception", "OutOfResources")) and " " not in name

    def _traced(self, line: Line) -> bool:
        done = list(self.tracebacks.feed(line))
        for raised in done:
            self._raised(raised)
        fresh = self.tracebacks.fresh(line)
        if fresh:
            fresh.phase, fresh.alive = self._phase(line.rank, fresh.frames), self.sieve.batches()
        return bool(done or fresh or self.tracebacks.streams)

    def _raised(self, raised: Raised) -> None:
        line, run = raised.line, self.run
        context = raised.context
        if "Exception ignored in" in context or "Ignore import error" in context:
            return
        fatal = True if "hit an exception" in context else None
        if "ASGI application" in context or "never retrieved" in context:
            fatal = False
        hit = rules.of_exception(raised, raised.phase, self.version)
        known = [one for one in run.candidates if one.chain == raised.chain]
        if hit is None and (raised.bare or known):
            return
        if any(one.rule for one in known) and not _in_other_words(raised, hit, known):
            return
        for one in known:
            run.candidates.remove(one)
        phase = raised.phase
        if rules.wrapped(raised):
            phase = "graph_capture"
        first = next((text for _, text in raised.said if text), "")
        name = f"{raised.name}: {first}" if first else raised.name
        run.add(
            Candidate(
                number=hit.number if hit else raised.number,
                text=line.text if hit is None or hit.number == raised.number else hit.text,
                rule=hit.rule if hit else None,
                found={**_where(raised), "raised": name, **(hit.found if hit else {})},
                rank=line.rank,
                stamp=line.stamp,
                year=line.year,
                phase=phase,
                fatal=fatal,
                alive=raised.alive,
                origin=PROGRAM,
                chain=raised.chain,
            )
        )

    def _voiced(self, line: Line, voice: str) -> int:
        for rule, found in rules.of_voice(voice, line.text):
            self._add(line, rule, found)
            return NEW
        return BORING

    def _message(self, line: Line) -> bool:
        text, run = line.text, self.run
        if text.startswith("server_args=ServerArgs(") and run.phases.last not in ("", "import"):
            self._next(linked=False)
        if run.died and self._restarted(line):
            self._next(linked=False)
        if self.run.phases.mark(line.number, line.stamp, line.rank, text):
            return True
        for rule, found in rules.of_message(text, self.version):
            self._add(line, rule, found)
            return True
        return False

    def _restarted(self, line: Line) -> bool:
        """Whether this is the beginning of another start, though nothing of systemd's says so."""
        if not line.text.startswith(("Init torch distributed begin", "Init parallel begin")):
            return False
        died = self.run.endings[0]
        known = line.stamp is not None and died.stamp is not None
        return known and line.stamp - died.stamp >= _GONE_S  # type: ignore[operator]

    def _said(self, line: Line, pattern: re.Pattern[str], voice: str) -> bool:
        """What argparse, a compiler, the dynamic loader, a shell or a warning say."""
        found = pattern.match(line.text)
        if not found:
            return False
        for rule, groups in rules.of_voice(voice, found["said"]):
            if "flags" in groups:
                groups["nearest"] = self.options.nearest(groups["flags"])
            self._add(line, rule, groups, fatal=True if voice in sayings.LAST_WORDS else None)
            return True
        return False

    def _ended(self, line: Line) -> bool:
        text, run = line.text, self.run
        if text.startswith("Fatal Python error: "):
            for rule, found in rules.of_voice("fatal", text[20:]):
                self._add(line, rule, found, fatal=True)
                break
            self._ending(line, "wrapper")
            return True
        for start, running in sayings.ENDED:
            if text.startswith(start):
                run.served = run.served or running
                self._ending(line, "wrapper")
                return True
        if text.startswith("Subprocess "):
            crashed = sayings.CRASHED.match(text)
            if crashed:
                self._ending(line, "wrapper", crashed["status"])
                return True
        if " exited with code " in text:
            left = sayings.LEFT.match(text)
            if left:
                self._ending(line, "exit", f"exited, status={left['status']}")
                return True
        if text.startswith(sayings.ASKED):
            if run.stop is None:
                run.stop = self._made(line, "stop")
            return True
        if any(said in text for said in sayings.RESTARTED) and (run.died or run.phases.last):
            self._next(linked=False)
            return True
        if any(how in text for how in sayings.SHELLS):
            ended = sayings.SHELL.match(text)
            if ended:
                self._ending(line, "wrapper", sayings.SHELLS[ended["how"]])
                return True
        return False

    # What systemd and the kernel say

    def _systemd(self, line: Line) -> int:
        unit = unit_of(line.text)
        if unit and named_as_server(unit):
            self.served_by_name = True
        elif unit and self.served_by_name:
            return FOREIGN
        said = said_by_systemd(line.text)
        self.run.systemd += 1
        if said is None:
            for rule, found in rules.of_voice("systemd", line.text):
                self._add(line, rule, found, fatal=True)
                return NEW
            return FOREIGN
        kind, status = said
        run = self.run
        if kind == "starting":
            self._next(linked=run.restart is not None)
            self.run.starting = True
        elif kind == "started":
            if not run.starting:
                self._next(linked=run.restart is not None)
            self.run.starting = False
        elif kind == "restart":
            run.restart = self._made(line, "restart", status)
        elif kind == "limit":
            run.limit = True
        elif kind == "stopping":
            run.stop = run.stop or self._made(line, "stop")
        else:
            self._ending(line, kind, status)
            for rule, found in rules.of_voice("systemd", line.text):
                self._add(line, rule, found, fatal=True)
                break
        return NEW

    def _kernel(self, line: Line) -> int:
        self.run.kernel += 1
        for rule, found in rules.of_voice("kernel", line.text):
            self._add(line, rule, found, fatal=None)
            return NEW
        return FOREIGN

    # The run

    def _add(
        self, line: Line, rule: rules.Rule, found: dict[str, str], fatal: bool | None = None
    ) -> None:
        self.run.add(
            Candidate(
                number=line.number,
                text=line.text,
                rule=rule,
                found=found,
                rank=line.rank,
                stamp=line.stamp,
                year=line.year,
                phase=self._phase(line.rank, []),
                fatal=fatal,
                alive=self.sieve.batches(),
                origin=line.origin,
                gpu=line.gpu,
            )
        )

    def _phase(self, rank: str, frames: list[str]) -> str:
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

    def _ending(self, line: Line, kind: str, status: str = "") -> None:
        self.run.ending(self._made(line, kind, status))

    def _made(self, line: Line, kind: str, status: str = "") -> Ending:
        phase = self._phase(line.rank, [])
        return Ending(line.number, line.text, line.stamp, line.year, kind, status, phase)

    def _clock(self, line: Line) -> None:
        run = self.run
        if run.first_stamp is None:
            run.first_stamp = line.stamp
        run.last_stamp = line.stamp

    def _close(self) -> None:
        """What the run's lines that nobody read add up to."""
        run, sieve = self.run, self.sieve
        run.alive = sieve.batches()
        number, kind, raw = sieve.last_batch()
        if number > run.first:
            run.served = True
            run.decoded = run.decoded or kind == DECODE
            run.alive_stamp = peel(number, raw, self.prefixes.without).stamp
        run.program = sieve.program() - run.program + run.read

    def _next(self, linked: bool) -> None:
        for raised in self.tracebacks.rest():
            self._raised(raised)
        run = self.run
        self._close()
        if not linked:
            self.loop = []
        elif run.ready:
            self.loop = [run]
        elif run.endings or run.candidates:
            self.loop = [*self.loop, run][:_MOST_LOOP]
        self.run = Run(linked=linked, first=self.sieve.before + self.sieve.at + 1)
        self.run.program = self.sieve.program()


def _in_other_words(raised: Raised, hit: rules.Hit | None, known: list[Candidate]) -> bool:
    """Whether it says again, for a human, what the one before it in the chain said."""
    names = [one.rule.name for one in known if one.rule]
    return raised.direct and hit is not None and hit.rule.name in names


def _innermost(frames: list[str], phase: str) -> str:
    for frame in reversed(frames):
        if "forward_decode" in frame:
            return "decode"
        if "forward_extend" in frame:
            return "prefill"
    return phase if phase in ("prefill", "decode") else "decode"


def _where(raised: Raised) -> dict[str, str]:
    """The frame that raised it, and its source line."""
    found = {}
    if raised.frames:
        file, _, function = raised.frames[-1].rpartition(":")
        found["function"], found["file"] = function, file.rsplit("site-packages/", 1)[-1]
    if raised.source:
        found["source"] = raised.source
    return found
