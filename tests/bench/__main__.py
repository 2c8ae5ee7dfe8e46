"""`python -m tests.bench`: measure, print the table, and with --write keep it in docs/bench.md."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from stoker.refused import Refused

from . import aims, machine, node, plan, report, rows, sandbox, with_ansible
from .session import Session

PAGE = Path(__file__).resolve().parents[2] / "docs/bench.md"


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


def _run(arguments: argparse.Namespace, work: Path) -> None:
    others: plan.Others = plan.FULL if arguments.full else plan.SHORT
    if arguments.quick:
        others = dict.fromkeys(plan.SHORT, ())
    ansible = with_ansible.installed(_cache())
    with sandbox.up(arguments.name, plan.CONTAINERS, arguments.keep) as state:
        session = Session(state, work, ansible)
        node.count_pct_starts(state)
        session.say(f"one start of pct costs {node.pct_cost_s(state):.2f} CPU-seconds")
        session.prepare()
        firsts = session.first_runs() if arguments.full else []
        for cell in plan.cells(others):
            session.measure(cell)
        session.check(session.containers)
        table = rows.compared(rows.medians(session.measured))
        found = [*aims.of(session, table), *firsts]
    report.printed(table, found, Console())
    if arguments.write:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(report.markdown(table, found, machine.told()))


def main() -> None:
    """Run it; a refusal is one sentence on standard error and exit code 1."""
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as work:
        try:
            _run(_arguments(), Path(work))
        except Refused as refused:
            print(refused, file=sys.stderr)
            sys.exit(1)


main()
