"""`stoker.pyz look`: who holds which GPU, in what state, as a table or as JSON."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import Any

from stoker.health import report
from stoker.recovery.looking import look
from stoker.recovery.machine import Machine


def add_to(commands: Any) -> None:
    """Adds this command to the command line."""
    parser = commands.add_parser("look", help="tell who holds which GPU; changes nothing")
    parser.add_argument("--json", action="store_true", help="everything seen, for programs")
    parser.add_argument("--no-smi", action="store_true", help="do not ask nvidia-smi")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Looks once and prints it."""
    seen = look(Machine.here(), smi=not arguments.no_smi)
    if arguments.json:
        print(json.dumps(dataclasses.asdict(seen), indent=2))
    else:
        sys.stdout.write(report.table(seen, seen.time))
    return 0
