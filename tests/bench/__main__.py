"""`python -m tests.bench`: measure, print the table, and with --write keep it in docs/bench.md."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from stoker.refused import Refused

from . import machine, node, plan, report, rows, sandbox, with_ansible
from .session import Session

PAGE = Path(__file__).resolve().parents[2] / "docs/bench.md"
REPEATS = 300


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--full", action="store_true", help="every tool on 1, 4 and 8 containers")
    parser.add_argument("--write", action="store_true", help="write the table to docs/bench.md")
    parser.add_argument("--quick", action="store_true", help="Stoker alone, for work on its speed")
    parser.add_argument("--keep", action="store_true", help="leave the sandbox up afterwards")
    parser.add_argument("--name", default="bench", help="the sandbox instance (default: bench)")
    return parser.parse_args()


def _cache() -> Path:
    """Where the pinned Ansible lives between runs."""
    above = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return above / "stoker" / "bench"


def _aims(session: Session, table: list[rows.Row]) -> list[rows.Aim]:
    """The aims, with the latency and the forty facts measured on the way."""
    containers = session.containers
    session.say("the latency of one command")
    taken = sorted(session.stoker.latency_ms(containers[0], REPEATS))
    session.say("connect and forty facts")
    facts = {
        count: sorted(
            session.stoker.run(containers[:count], "forty_facts.py").connected_s or 0.0
            for _ in range(3)
        )[1]
        for count in (1, 8)
    }
    starts = max(row.measured.pct_starts for row in table if row.measured.tool == rows.STOKER)
    return [
        rows.at_least("Ansible as shipped, 1 container", 100, table, with_ansible.SHIPPED.name, 1),
        rows.at_least("Ansible patched, 8 containers", 80, table, with_ansible.PATCHED.name, 8),
        rows.under("one command, median of 300", 3, taken[len(taken) // 2], "ms"),
        rows.under("connect and 40 facts, 1 container", 1.5, facts[1], "s"),
        rows.under("connect and 40 facts, 8 containers", 4, facts[8], "s"),
        rows.under("pct starts of Stoker", 1, starts, ""),
    ]


def _run(arguments: argparse.Namespace, work: Path) -> None:
    others: plan.Others = plan.FULL if arguments.full else plan.SHORT
    if arguments.quick:
        others = dict.fromkeys(plan.SHORT, ())
    ansible = with_ansible.installed(_cache())
    with sandbox.up(arguments.name, plan.CONTAINERS, arguments.keep) as state:
        session = Session(state, work, ansible)
        session.say(f"one start of pct costs {node.pct_cost_s(state):.2f} CPU-seconds")
        session.prepare()
        for cell in plan.cells(others):
            session.measure(cell)
        session.check(session.containers)
        table = rows.compared(rows.medians(session.measured))
        aims = _aims(session, table)
    report.printed(table, aims, Console())
    if arguments.write:
        PAGE.write_text(report.markdown(table, aims, machine.told()))


def main() -> None:
    """Run it; a refusal is one sentence on standard error and exit code 1."""
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as work:
        try:
            _run(_arguments(), Path(work))
        except Refused as refused:
            print(refused, file=sys.stderr)
            sys.exit(1)


main()
