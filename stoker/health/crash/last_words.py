"""What a server, its shell or its container's runtime say about its end: never a cause."""

from __future__ import annotations

from stoker.health.crash import rules, sayings
from stoker.health.crash.line import Line
from stoker.health.crash.record import Record


def read(line: Line, record: Record) -> bool:
    """Whether the line is one of them."""
    text, run = line.text, record.run
    if text.startswith("Fatal Python error: "):
        for rule, found in rules.of_voice("fatal", text[20:]):
            record.add(line, rule, found, fatal=True)
            break
        record.ending(line, "wrapper")
        return True
    for start, running in sayings.ENDED:
        if text.startswith(start):
            run.served = run.served or running
            record.ending(line, "wrapper")
            return True
    if text.startswith("Subprocess "):
        crashed = sayings.CRASHED.match(text)
        if crashed:
            record.ending(line, "wrapper", crashed["status"])
            return True
    if " exited with code " in text:
        left = sayings.LEFT.match(text)
        if left:
            record.ending(line, "exit", f"exited, status={left['status']}")
            return True
    if text.startswith(sayings.ASKED):
        if run.stop is None:
            run.stop = record.made(line, "stop")
        return True
    if any(said in text for said in sayings.RESTARTED) and (run.died or run.phases.last):
        record.next(linked=False)
        return True
    if any(how in text for how in sayings.SHELLS):
        ended = sayings.SHELL.match(text)
        if ended:
            record.ending(line, "wrapper", sayings.SHELLS[ended["how"]])
            return True
    return False
