"""`stoker check`: can this flag set work? Told on any machine, without a host.

It is to answer at once, so what not every call needs is imported where it is needed.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from stoker.cli.streams import STDIN, Asked, shown
from stoker.health import wording
from stoker.refused import Refused

if TYPE_CHECKING:
    from stoker.serving.checking.asking import Facts
    from stoker.serving.checking.reason import Verdict
    from stoker.serving.rules.rule import Rule
    from stoker.serving.weights.directory import Directory

LARGEST = 1 << 18
"""Bytes of a file: the largest flag set that we know has 2,000."""
LONGEST = 4096
"""Letters of a line that is shown."""
_ASKED = Asked("check", "file")


def add_to(commands: Any) -> None:
    """Adds this command to the command line."""
    parser = commands.add_parser(
        "check",
        help="tell whether a flag set can work, before anything is touched",
        description="Tell whether a flag set, or a case, can work: every reason, what to do.",
        epilog="exit code: 0 ok or warned of, 1 refused, 2 unreadable; of several files the worst",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a flag set; - reads stdin")
    parser.add_argument("--facts", metavar="FILE", help="GPUs, host and model, as in a case")
    parser.add_argument("--json", action="store_true", help="a JSON object a line and file")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Tells one file after the other; the worst exit code of all."""
    if [*arguments.files, arguments.facts].count(STDIN) > 1:
        raise Refused("cannot read standard input twice: - is named twice; write one to a file")
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    facts = _facts(arguments.facts) if arguments.facts else None
    codes: list[int] = []
    for name in arguments.files:
        if codes and not arguments.json:
            print()
        codes.append(_one(name, facts, arguments.json))
    return max(codes)


def _one(name: str, facts: Facts | None, as_json: bool) -> int:
    from stoker.serving.checking import told

    try:
        verdict = checked(name, facts)
    except Refused as error:
        print(wording.shown(str(error), LONGEST), file=sys.stderr)
        if as_json:
            _print_json(told.unreadable(name, str(error)))
        return told.UNREADABLE
    if as_json:
        _print_json(told.document(name, verdict))
    else:
        for line in told.lines(shown(name), verdict):
            print(wording.shown(line, LONGEST))
        sys.stdout.flush()
    return told.EXIT[verdict.word]


def checked(name: str, facts: Facts | None = None) -> Verdict:
    """The verdict on that file, `-` for standard input; `Refused` if it cannot be read."""
    from stoker.serving.checking import written

    text = _text(name)
    stem = None if name == STDIN else os.path.basename(name).removesuffix(".yaml")  # noqa: PTH119
    try:
        return written.verdict(stem, text, facts, _rows(), _look)
    except Refused as error:
        raise _refused(name, error) from error


def _look(path: str) -> Directory | None:
    """What lies in a model's directory, if this machine has it."""
    if not os.path.isdir(path):  # noqa: PTH112
        return None
    from pathlib import Path

    from stoker.serving.inside import model_files
    from stoker.serving.weights import directory

    try:
        return directory.read(model_files.look(Path(path), ""))
    except OSError as error:
        raise _ASKED.refused(path, _ASKED.why(error)) from None


def _facts(name: str) -> Facts:
    from stoker.serving.checking import written

    try:
        return written.facts(_text(name))
    except Refused as error:
        raise _refused(name, error) from error


def _refused(name: str, error: Refused) -> Refused:
    said = str(error)
    return error if said.startswith("cannot ") else _ASKED.refused(name, f"it {said}")


def _text(name: str) -> str:
    read = b""
    for block in _ASKED.blocks(name, _ASKED.opened(name)):
        read += block
        if len(read) > LARGEST:
            raise _ASKED.refused(name, "it is larger than any flag set; name one")
    try:
        return read.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _ASKED.refused(name, f"it is not UTF-8: byte {error.start}; name a text") from None


def _rows() -> tuple[Rule, ...]:
    """The known-bad rows, with those of the site that this is the directory of."""
    from stoker.serving import rules

    return rules.load(rules.KNOWN_BAD)


def _print_json(told: dict[str, Any]) -> None:
    import json

    print(json.dumps(told), flush=True)
