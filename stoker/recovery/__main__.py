"""`stoker.pyz`: a node looked at, and recovered, with nothing but its python3."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Optional, Sequence

from stoker.recovery import clear, evidence, look, recover, status, watch

COMMANDS = (look, evidence, recover, status, clear, watch)


def main(words: Optional[Sequence[str]] = None) -> int:
    """Runs one command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="stoker.pyz", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    arguments = parser.parse_args(words)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads on, as of `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
