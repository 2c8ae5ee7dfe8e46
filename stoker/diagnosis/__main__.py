"""`diagnose.pyz died|gave-up|units`: why a server of this container died.

died and gave-up are called by systemd (ExecStopPost=, OnFailure=), units by whoever asks.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from stoker.diagnosis import died, gave_up, units
from stoker.diagnosis.unfailing import unfailing


def main(words: Sequence[str] | None = None) -> int:
    """0, whatever was found: a diagnosis never makes anything fail."""
    parser = argparse.ArgumentParser(prog="diagnose.pyz", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command", metavar="COMMAND")
    for name, about in (
        ("died", "a start of this unit has ended: report why, unless somebody asked for it"),
        ("gave-up", "systemd starts this unit no more: say what its first failure was"),
    ):
        commands.add_parser(name, help=about).add_argument("unit")
    asked = commands.add_parser("units", help="print one JSON object a unit: why it died last")
    asked.add_argument("--invocation", default="", help="judge this start of the unit")
    asked.add_argument("unit", nargs="*", help="default: every unit of ours")
    given = parser.parse_args(words)
    if given.command == "units":
        units.told(given.unit, given.invocation)
    elif given.command == "died":
        unfailing(given.unit, died.died)
    else:
        unfailing(given.unit, gave_up.gave_up)
    return 0


if __name__ == "__main__":
    sys.exit(main())
