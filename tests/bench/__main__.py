"""`python -m tests.bench`: measure and print tables; with --write keep them in docs/bench.md."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from stoker.refused import Refused

from . import (
    check_part,
    containers_part,
    crash_part,
    recovery_part,
    report,
    role_part,
    rollback_part,
)

ALONE = ("recovery", "rollback", "crash", "check", "containers")
PAGE = Path(__file__).resolve().parents[2] / "docs/bench.md"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--recovery", action="store_true", help="recovery alone, three minutes")
    parser.add_argument("--rollback", action="store_true", help="rollback alone, three minutes")
    parser.add_argument("--crash", action="store_true", help="the classifier alone, a minute")
    parser.add_argument("--check", action="store_true", help="stoker check alone, ten seconds")
    parser.add_argument("--containers", action="store_true", help="containers alone, six minutes")
    parser.add_argument("--full", action="store_true", help="every tool on 1, 4 and 8 containers")
    parser.add_argument("--write", action="store_true", help="write the tables to docs/bench.md")
    parser.add_argument("--quick", action="store_true", help="Stoker alone, for work on its speed")
    parser.add_argument("--keep", action="store_true", help="leave the sandbox up afterwards")
    parser.add_argument("--name", default="bench", help="the sandbox instance (default: bench)")
    return parser.parse_args()


def _cache() -> Path:
    """Where the pinned Ansible lives between runs."""
    above = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return above / "stoker" / "bench"


def _run(arguments: argparse.Namespace, work: Path) -> None:
    asked = {name for name in ALONE if getattr(arguments, name)}
    parts = []
    if not asked:
        parts.append(role_part.measured(arguments, work, _cache()))
    if not asked or "recovery" in asked:
        parts.append(recovery_part.measured(arguments, work))
    if not asked or "rollback" in asked:
        parts.append(rollback_part.measured(arguments, work))
    if not asked or "crash" in asked:
        parts.append(crash_part.measured())
    if not asked or "check" in asked:
        parts.append(check_part.measured(work))
    if not asked or "containers" in asked:
        parts.append(containers_part.measured(arguments, work))
    for part in parts:
        report.printed(part, Console())
    if arguments.write:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(report.kept(PAGE.read_text() if PAGE.exists() else "", parts))


def main() -> None:
    """Run it; a refusal is one sentence on standard error and exit code 1."""
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as work:
        try:
            _run(_arguments(), Path(work))
        except Refused as refused:
            print(refused, file=sys.stderr)
            sys.exit(1)


main()
