"""The `stoker` command."""

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from stoker.refused import Refused

_FULL = (errno.ENOSPC, errno.EDQUOT)
ALONE = ("check", "diagnose", "explain")
"""Commands that ask no host: they need no pyinfra, whose import alone takes a second."""


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    _require_streams()
    given = list(sys.argv[1:] if words is None else words)
    if given[:1] and given[0] in ALONE:
        return _in_a_sentence(given)
    return _main(given)


def _in_a_sentence(given: list[str]) -> int:
    """Of a command whose 1 says that there is a fault: what nobody expected ends in 2."""
    try:
        return _main(given)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        print(
            f"cannot {given[0]}: {why}; this is a fault of stoker's own, report it", file=sys.stderr
        )
        return 2


def _main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="stoker", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _commands(given[:1]):
        command.add_to(commands)
    arguments = parser.parse_args(given)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except Refused as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:  # nobody reads on, as of `| head`
        _say_no_more()
        return 1
    except OSError as error:
        if error.errno not in _FULL:
            raise
        _say_no_more()
        print(f"cannot write the answer: {error.strerror}; free some space", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return code


def _require_streams() -> None:
    """What the shell closed (`>&-`) is nothing: empty to read, and gone once written."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _say_no_more() -> None:
    """What is still to be written goes nowhere: at the end Python would fail with it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _commands(first: list[str]) -> list[ModuleType]:
    """The modules of the commands; of one that is named and asks no host, that alone."""
    if first and first[0] in ALONE:
        return [import_module(f"stoker.cli.{first[0]}")]
    # pyinfra's transports want the patched standard library, before anything of them is imported.
    from gevent import monkey

    monkey.patch_all()
    return [import_module(f"stoker.cli.{name}") for name in ("status", "gpus", "node", *ALONE)]


if __name__ == "__main__":
    sys.exit(main())
