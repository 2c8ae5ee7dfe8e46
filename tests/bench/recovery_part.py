"""The second part: who holds a GPU, and from orphans on eight of them to a server that serves."""

import argparse
import textwrap
import time
from pathlib import Path

from . import machine, recovered, report, sandbox, scanned, ways
from .report import Part

TITLE = "Recovery"


def measured(arguments: argparse.Namespace, work: Path) -> Part:
    """The scan on this machine, the rest on a sandbox of its own."""
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"  {time.monotonic() - began:5.0f} s  {what}", flush=True)

    crowd = work / "crowd"
    crowd.mkdir()
    scans = scanned.measured(crowd, say)
    name = f"{arguments.name[:7]}-gpu"
    with sandbox.up(name, 1, arguments.keep, gpus=recovered.GPUS) as state:
        freed = recovered.prepared(state, work, say).measured()
    tables = (
        report.of_ways(ways.cells(scans, scanned.OURS)),
        report.of_ways(ways.cells(freed, recovered.OURS)),
        report.of_aims([scanned.aim(scans), recovered.aim(freed)]),
    )
    return Part(TITLE, _ABOUT, machine.told(), tables)


_WHO = f"""
**Who holds a GPU.** {scanned.PROCESSES} processes with {scanned.FILES} open files each;
{scanned.PLAIN} of them hold the device, and one more holds it by a thread whose main thread has
ended. All on one core, each way several times in turn, the cheapest run of each in processor time,
which others on the machine lengthen less than the clock's. The ways differ in what they see: the
scan looks at every thread's files and at all mappings, by device number, and says what it could not
see; `fuser` and `lsof` look at main threads, `ls` at paths.
"""
_FREED = f"""
**From stuck to serving.** The server of a unit was killed and does not come back; processes without
a parent hold all {recovered.GPUS} stand-in GPUs, whose memory comes back {recovered.RELEASE_S} s
after their last holder's end. `stoker.pyz recover` is one command over ssh that finds, ends,
verifies, starts the unit and has a token generated. By hand nothing has to be found and nothing is
verified: what is left is the release's and the server's own time, which nobody can spare. The
server is a small one that starts in 2 s. Of Stoker the slower of two runs, of others the faster.
"""
_ABOUT = "\n\n".join(textwrap.fill(" ".join(text.split()), 100) for text in (_WHO, _FREED)) + "\n"
