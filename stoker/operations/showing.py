"""What a diagnosis prints: one table, a paragraph for each unit that is down, a line for others."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from stoker.facts.server_state import WELL
from stoker.health import wording
from stoker.health.crash.verdict import HEALTHY
from stoker.operations.findings import Finding, at

LONGEST = 2000
"""Letters of a line."""
_COLOURS = {"serving": "green", "loading": "yellow"}


def show(found: Sequence[Finding]) -> None:
    """On standard output; pyinfra's own lines are on the other."""
    sys.stderr.flush()  # with this pyinfra's spinner leaves its line
    # Where nobody watches, a table cut to 80 columns would only lose something.
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 160)
    if not found:
        console.print("There is no unit: name a container that serves, and leave it in the limit.")
        return
    console.print(table(found))
    for finding in found:
        if finding.lines:
            console.print()
            for line in finding.lines:
                _say(console, line)
    for finding in found:
        if finding.remark:
            _say(console, f"{finding.host} {finding.unit}: {finding.state}; {finding.remark}")
    if all(finding.state in WELL for finding in found):
        quiet = all(finding.state == WELL[0] and not finding.remark for finding in found)
        console.print("Nothing is wrong." if quiet else "Nothing is down now.")


def _say(console: Console, line: str) -> None:
    """Without what would move the terminal's cursor: much of it was said inside a container."""
    clean = wording.shown(line, LONGEST)
    console.print(clean, markup=False, highlight=False, soft_wrap=True)


def table(found: Sequence[Finding]) -> Table:
    """A row a unit."""
    drawn = Table("host", "unit", "state", "since (UTC)", "class", "phase", "confidence")
    for one in found:
        told = one.verdict
        # Of a log that is not at its end only how far it came is known.
        known = told is not None and (one.wrong or told.name == HEALTHY)
        name, confidence = (told.name, told.confidence) if told and known else ("", "")
        colour = _COLOURS.get(one.state, "red")
        cells = map(escape, (one.host, one.unit))
        rest = map(escape, (at(one.since), name, told.phase if told else "", confidence))
        drawn.add_row(*cells, f"[{colour}]{escape(one.state)}[/]", *rest)
    return drawn
