"""The exceptions of a log, each as what may be the cause of its run's end."""

from __future__ import annotations

from stoker.health.crash import rules
from stoker.health.crash.line import PROGRAM, Line
from stoker.health.crash.raised import Raised
from stoker.health.crash.record import Record
from stoker.health.crash.runs import Candidate
from stoker.health.crash.tracebacks import Tracebacks


class Exceptions:
    """Reads the lines of tracebacks."""

    def __init__(self, record: Record, version: str) -> None:
        self.record = record
        self.version = version
        """SGLang's; empty: not known, no line of a log says it."""
        self.tracebacks = Tracebacks()
        record.before_next = self.finish

    @property
    def opened(self) -> bool:
        """Whether the next line may belong to one."""
        return bool(self.tracebacks.streams)

    @property
    def broken_off(self) -> bool:
        """Whether the log ends here inside of a traceback, before its exception."""
        every = self.tracebacks.streams.values()
        return any(one.raised is None and one.frames for one in every)

    def finish(self) -> None:
        """No more lines come for those that are open."""
        for raised in self.tracebacks.rest():
            self._raised(raised)

    def read(self, line: Line) -> bool:
        """Whether the line belongs to one, or ended one."""
        done = list(self.tracebacks.feed(line))
        for raised in done:
            self._raised(raised)
        fresh = self.tracebacks.fresh(line)
        if fresh:
            fresh.phase = self.record.phase(line.rank, fresh.frames)
            fresh.alive = self.record.sieve.batches()
        return bool(done or fresh or self.tracebacks.streams)

    def _raised(self, raised: Raised) -> None:
        candidates, context = self.record.run.candidates, raised.context
        if "Exception ignored in" in context or "Ignore import error" in context:
            return
        hit = rules.of_exception(raised, raised.phase, self.version)
        known = [one for one in candidates if one.chain == raised.chain]
        if hit is None and (raised.bare or known):
            return
        if any(one.rule for one in known) and not _in_other_words(raised, hit, known):
            return
        for one in known:
            candidates.remove(one)
        self.record.run.add(_candidate(raised, hit))


def begins(line: Line) -> bool:
    """Whether a traceback, or an exception, may begin here."""
    text = line.text
    if text.startswith("  "):
        return text.lstrip(" ").startswith('File "')
    if text.endswith("(most recent call last):"):
        return True
    name = text[:120].partition(":")[0]
    return name.endswith(("Error", "Exception", "OutOfResources")) and " " not in name


def _candidate(raised: Raised, hit: rules.Hit | None) -> Candidate:
    line = raised.line
    first = next((text for _, text in raised.said if text), "")
    name = f"{raised.name}: {first}" if first else raised.name
    return Candidate(
        number=hit.number if hit else raised.number,
        text=line.text if hit is None or hit.number == raised.number else hit.text,
        rule=hit.rule if hit else None,
        found={**_where(raised), "raised": name, **(hit.found if hit else {})},
        rank=line.rank,
        stamp=line.stamp,
        year=line.year,
        phase="graph_capture" if rules.wrapped(raised) else raised.phase,
        fatal=_fatal(raised.context),
        alive=raised.alive,
        origin=PROGRAM,
        chain=raised.chain,
    )


def _fatal(context: str) -> bool | None:
    """Whether what was said before the traceback shows that its process ended by it."""
    if "ASGI application" in context or "never retrieved" in context:
        return False
    return True if "hit an exception" in context else None


def _in_other_words(raised: Raised, hit: rules.Hit | None, known: list[Candidate]) -> bool:
    """Whether it says again, for a human, what the one before it in the chain said.

    Or that one was an echo, a lost pipe say, and this one may say of whom.
    """
    ruled = [one.rule for one in known if one.rule]
    if hit is None:
        return False
    if all(rule.role == "echo" for rule in ruled):
        return True
    return raised.direct and hit.rule.name in [rule.name for rule in ruled]


def _where(raised: Raised) -> dict[str, str]:
    """The frame that raised it, and its source line."""
    found = {}
    if raised.frames:
        file, _, function = raised.frames[-1].rpartition(":")
        found["function"], found["file"] = function, file.rsplit("site-packages/", 1)[-1]
    if raised.source:
        found["source"] = raised.source
    return found
