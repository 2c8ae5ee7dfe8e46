"""The `stoker` command."""

import argparse
import sys
from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    # pyinfra's transports want the patched standard library, before anything else is imported.
    from gevent import monkey

    monkey.patch_all()
    from stoker.cli import gpus, status
    from stoker.refused import Refused

    parser = argparse.ArgumentParser(prog="stoker", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    status.add_to(commands)
    gpus.add_to(commands)
    arguments = parser.parse_args(words)
    try:
        code: int = arguments.run(arguments)
    except Refused as error:
        print(error, file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
