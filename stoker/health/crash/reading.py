"""The lines of a log, sorted by who says them."""

from __future__ import annotations

from stoker.health.crash.exceptions import Exceptions
from stoker.health.crash.glancing import Words, boring
from stoker.health.crash.line import KERNEL, PROGRAM, SYSTEMD
from stoker.health.crash.outside import Outside
from stoker.health.crash.peeling import peel
from stoker.health.crash.prefixes import Prefixes
from stoker.health.crash.program import Program
from stoker.health.crash.quoting import Quoting
from stoker.health.crash.record import Record
from stoker.health.crash.sieve import BORING, NEW, Glance, Sieve


class Reading:
    """Reads a log into the record of its runs."""

    def __init__(self, version: str = "") -> None:
        """`version`: SGLang's; empty: not known, no line of a log says it."""
        self.sieve = Sieve(self.read, self._glance)
        self.words = Words()
        self.prefixes = Prefixes(self.sieve.known.clear)
        self.quoting = Quoting()
        self.record = Record(self.sieve, self._stamp_of)
        self.exceptions = Exceptions(self.record, version)
        self.program = Program(self.record, self.exceptions, version)
        self.outside = Outside(self.record)
        self.year: int | None = None
        self.broken_off = False
        """The log ends inside of a traceback, before its exception."""

    def read(self, number: int, raw: bytes, sieve: Sieve) -> tuple[int, bool]:
        """One line that is not known to be boring."""
        if self._glance() and not self.exceptions.opened and boring(raw):
            return BORING, False
        line = peel(number, raw, self.prefixes.without)
        if self.quoting.holds(line):
            return NEW, True
        if line.year is not None:
            self.year = line.year
        if line.origin == SYSTEMD:
            kind = self.outside.systemd(line)
        elif line.origin == KERNEL:
            kind = self.outside.kernel(line)
        else:
            kind = self.program.read(line, asked=self.quoting.opened is not None)
        if kind == NEW and line.origin == PROGRAM:
            self.record.run.read += 1
        if line.stamp is not None and (kind == NEW or self.record.run.first_stamp is None):
            self.record.clock(line)
        return kind, bool(self.exceptions.opened or self.quoting.opened)

    def _glance(self) -> Glance | None:
        """None: a log with a prefix of its own is read in full."""
        if self.quoting.opened or self.prefixes.known or self.record.run.first_stamp is None:
            return None
        return self.words.found

    def end(self) -> None:
        """The log is over."""
        self.broken_off = self.exceptions.broken_off
        self.exceptions.finish()
        self.record.close()

    def _stamp_of(self, raw: bytes) -> float | None:
        return peel(0, raw, self.prefixes.without).stamp
