"""Another part: from a candidate's failure to the server before, which answers."""

import argparse
import textwrap
import time
from pathlib import Path

from tests.sandbox.dying import ward

from . import machine, report, rolled_back, ways
from .report import Part

TITLE = "Rollback"


def measured(arguments: argparse.Namespace, work: Path) -> Part:
    """On a sandbox of its own."""
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"  {time.monotonic() - began:5.0f} s  {what}", flush=True)

    site = work / "rollback"
    site.mkdir()
    name = f"{arguments.name[:7]}-back"
    with ward(name, site, []) as found:
        taken = rolled_back.prepared(found, name, say).measured()
    cells = ways.cells(taken, rolled_back.OURS)
    tables = (report.of_ways(cells), report.of_aims([rolled_back.aim(taken)]))
    return Part(TITLE, _ABOUT, machine.told(), tables)


_TEXT = f"""
A server serves; its flag set is changed to one whose server dies while it loads. Measured is from
its last log line to a token of the server before, asked for over the network all the time. Stoker
has to see the death, read its cause from the log, put the files back, start the server and see its
token. By hand nothing has to be found out: a loop sees the death within 50 ms, and the files lie
ready. The server is a small one that loads for {rolled_back.LOAD_S} s, which both pay. Of Stoker
the slower of two runs, by hand the faster.
"""
_ABOUT = textwrap.fill(" ".join(_TEXT.split()), 100) + "\n"
