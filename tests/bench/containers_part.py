"""Another part: eight containers from nothing to a token, and a run that finds nothing to do."""

import argparse
import textwrap
import time
from pathlib import Path

from . import created, eight, machine, plan, report, sandbox, unchanged, ways
from .report import Part
from .rows import told

TITLE = "Containers"
COUNT = plan.CONTAINERS


def measured(arguments: argparse.Namespace, work: Path) -> Part:
    """On a sandbox of its own, which has no container at first."""
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"  {time.monotonic() - began:5.0f} s  {what}", flush=True)

    name = f"{arguments.name[:7]}-ct"
    with sandbox.up(name, COUNT, arguments.keep, bare=True) as state:
        found = eight.prepared(state, work / "containers")
        say(f"{COUNT} containers from nothing to a token")
        first = found.deploy("deploy.py")
        say(f"    {first.seconds:.1f} s")
        say("nothing to do: all of it, without `container`, the servers alone")
        nothing = unchanged.measured(found, say)
        say("the containers alone")
        made = created.measured(found, say)
    whole = told(f"{COUNT} containers in one run, from nothing to a token each", first.seconds, "s")
    tables = (
        report.of_ways(ways.cells(made, created.OURS)),
        nothing.table,
        report.of_aims([whole, *created.aims(made), *nothing.aims]),
    )
    return Part(TITLE, _ABOUT, machine.told(), tables)


_MADE = f"""
**Made and started.** {COUNT} containers that are declared and not there, each with a GPU of its
own, two bind mounts and a fixed address. Stoker reaches the node's API with a token; what Proxmox
keeps for root it does by pct. By hand all values are known before: pct create, pct set, pct start
for one after another in one shell on the node. Each way ends when systemd has started in every
container, and makes the same ones. Of Stoker the slower of two runs. A pct costs the CPU time of a
real one, an API call does not, as its workers are forked; a template here is unpacked from a disk
that all share with everything else.
"""
_WHOLE = """
**From nothing to a token.** The same run goes on in every container: an interpreter from the
distribution, the driver's libraries, and a small server in SGLang's place, which is proved by its
tokens as a real one.
"""
_NOTHING = f"""
**Nothing to do.** The same run again; the same without the data `container`; and with the roles
that look after the servers alone, as before Stoker knew containers. In turn, {unchanged.ROUNDS}
rounds, every other one in the opposite order; a difference is taken within a round, and told is the
median. Processor time is that of the
node and all its containers, and of the controller.
"""
_ABOUT = (
    "\n\n".join(textwrap.fill(" ".join(t.split()), 100) for t in (_MADE, _WHOLE, _NOTHING)) + "\n"
)
