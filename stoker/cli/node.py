"""`stoker node`: what of a node's settings is good for its GPUs, and what is not."""

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from typing import Any

import gevent
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from stoker.cli.hosts import nodes
from stoker.facts.node_settings import NodeSettings, SmiSettings
from stoker.health.node_settings import rows

_SHOWN = {True: "[green]yes[/]", False: "[red]no[/]", None: "-"}


@dataclass(frozen=True)
class Row:
    """One check of one node."""

    node: str
    check: str
    found: str
    good: bool | None
    """None: it cannot be told, or is only worth knowing."""
    do: str = ""


def add_to(commands: Any) -> None:
    """Adds this command to the command line."""
    parser = commands.add_parser(
        "node", help="show each node's settings; exit 1 if one is not good"
    )
    parser.add_argument("inventory", help="an inventory file, such as inventory/lab.py")
    parser.add_argument("--limit", help="hosts or groups, * allowed, several by comma")
    parser.add_argument("--json", action="store_true", help="a JSON list instead of a table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the checks; 1 if one is not good or a node could not be looked at."""
    with nodes("nodes", arguments.inventory, arguments.limit) as (reached, lost):
        jobs = [gevent.spawn(rows_of, host) for host in reached]
        found = [row for job in gevent.joinall(jobs, raise_error=True) for row in job.value]
    found += [Row(host.name, "look", "unreachable", False, "see above") for host in lost]
    if arguments.json:
        json.dump([asdict(row) for row in found], sys.stdout, indent=2)
        print()
    else:
        _print(found)
    return 1 if any(row.good is False for row in found) else 0


def rows_of(host: Any) -> list[Row]:
    """The checks of one node; nvidia-smi is asked where there are GPUs and a driver."""
    seen = host.get_fact(NodeSettings)
    if seen is None:
        do = "see that /usr/bin/python3 is there"
        return [Row(host.name, "look", "the node gave no answer", False, do)]
    smi = host.get_fact(SmiSettings) if seen.gpus and seen.loaded else None
    return [Row(host.name, row.check, row.found, row.good, row.do) for row in rows(seen, smi)]


def _print(found: list[Row]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 160)
    table = Table("node", "check", "found", "good", "what to do")
    for before, row in zip([None, *found], found, strict=False):
        name = "" if before and before.node == row.node else row.node
        table.add_row(*map(escape, (name, row.check, row.found)), _SHOWN[row.good], escape(row.do))
    console.print(table)
