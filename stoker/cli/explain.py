"""`stoker explain`: the long answer to a class of crashes."""

from __future__ import annotations

import argparse
import difflib
import shutil
from typing import Any

from stoker.health.crash.explaining import explained, listed
from stoker.refused import Refused

WIDEST = 100


def add_to(commands: Any) -> None:
    """Adds this command to the command line."""
    told = "what a class of crashes is, how to make sure, what to do"
    parser = commands.add_parser("explain", help=told, description=f"Tell {told}.")
    parser.add_argument("name", nargs="?", metavar="CLASS", help="without it all are listed")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints one class, or the list of all."""
    from stoker.health.crash.classes import known

    classes = known()
    width = min(shutil.get_terminal_size().columns, WIDEST)
    if arguments.name is None:
        print("\n".join(listed(classes.values())))
        return 0
    name = arguments.name.strip().lower().replace("-", "_")
    if name not in classes:
        raise Refused(
            f"cannot explain {arguments.name}: there is no such class; {_nearest(name, classes)}"
        )
    print("\n".join(explained(classes[name], width)))
    return 0


def _nearest(name: str, classes: Any) -> str:
    near = difflib.get_close_matches(name, classes, n=3, cutoff=0.5)
    near += [one for one in classes if len(name) > 2 and name in one and one not in near]
    return f"do you mean {', '.join(near[:5])}?" if near else "stoker explain lists all"
