"""What systemd and the kernel say in the server's own journal."""

from __future__ import annotations

from stoker.health.crash import rules
from stoker.health.crash.line import Line
from stoker.health.crash.record import Record
from stoker.health.crash.sieve import FOREIGN, NEW
from stoker.health.crash.systemd import named_as_server, said_by_systemd, unit_of


class Outside:
    """Reads their lines; each gives the line's kind."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.served_by_name = False
        """Whether a unit of the journal is the server's by its name."""

    def systemd(self, line: Line) -> int:
        """A start, an end, a restart, or what a rule knows."""
        unit = unit_of(line.text)
        if unit and named_as_server(unit):
            self.served_by_name = True
        elif unit and self.served_by_name:
            return FOREIGN
        said = said_by_systemd(line.text)
        self.record.run.systemd += 1
        if said is None:
            for rule, found in rules.of_voice("systemd", line.text):
                self.record.add(line, rule, found, fatal=True)
                return NEW
            return FOREIGN
        kind, status = said
        run = self.record.run
        if kind == "starting":
            self.record.next(linked=run.restart is not None)
            self.record.run.starting = True
        elif kind == "started":
            if not run.starting:
                self.record.next(linked=run.restart is not None)
            self.record.run.starting = False
        elif kind == "restart":
            run.restart = self.record.made(line, "restart", status)
        elif kind == "limit":
            run.limit = True
        elif kind == "stopping":
            run.stop = run.stop or self.record.made(line, "stop")
        else:
            self.record.ending(line, kind, status)
            for rule, found in rules.of_voice("systemd", line.text):
                self.record.add(line, rule, found, fatal=True)
                break
        return NEW

    def kernel(self, line: Line) -> int:
        """What a rule knows of a GPU or of the OOM killer."""
        self.record.run.kernel += 1
        for rule, found in rules.of_voice("kernel", line.text):
            self.record.add(line, rule, found, fatal=None)
            return NEW
        return FOREIGN
