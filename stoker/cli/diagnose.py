"""`stoker diagnose`: why the server of a log died, on any machine, without an inventory.

It is to answer at once, so what not every call needs is imported where it is needed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from stoker.cli import logs
from stoker.cli.streams import STDIN
from stoker.health import wording
from stoker.health.crash.verdict import HEALTHY, Verdict
from stoker.refused import Refused

LONGEST = 4096
"""Letters of a file's name that are shown: whoever sent the file may have named it."""
SHOWS_PROGRESS = 50 << 20
"""Bytes of a file from which on a terminal shows how far it is read."""


def add_to(commands: Any) -> None:
    """Adds this command to the command line."""
    parser = commands.add_parser(
        "diagnose",
        help="tell why the server of a log died",
        description="Tell why the server of a log died: the cause, its line, what to do.",
        epilog="exit code: 0 healthy, 1 a fault, 2 unreadable; of several files the worst",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a log, .gz too; - reads stdin")
    parser.add_argument("--dmesg", metavar="FILE", help="the node's kernel log of that time")
    parser.add_argument("--json", action="store_true", help="a JSON object a line and file")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Tells one file after the other; the worst exit code of all."""
    _require_one_stdin([*arguments.files, arguments.dmesg])
    if arguments.dmesg not in (None, STDIN):
        logs.chunks(arguments.dmesg)  # unreadable: said once and before the first log
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    codes = []
    for name in arguments.files:
        try:
            verdict = diagnosed(name, arguments.dmesg)
        except Refused as error:
            print(wording.shown(str(error), LONGEST), file=sys.stderr)
            if arguments.json:
                _print_json(name, _unread(str(error)))
            codes.append(2)
            continue
        if codes and not arguments.json:
            print()
        _tell(name, verdict, arguments.json)
        codes.append(0 if verdict.name == HEALTHY else 1)
    return max(codes)


def diagnosed(name: str, dmesg: str | None = None) -> Verdict:
    """The verdict of that file, `-` for standard input; `Refused` if it cannot be read."""
    from stoker.health.crash.diagnosing import diagnose

    with _progress(name) as count:
        log = logs.chunks(name, count, _note)
        return diagnose(log, dmesg=logs.chunks(dmesg) if dmesg else ())


def _note(said: str) -> None:
    print(wording.shown(said, LONGEST), file=sys.stderr)


def _tell(name: str, verdict: Verdict, as_json: bool) -> None:
    if as_json:
        from stoker.health.crash.report import to_json

        _print_json(name, to_json(verdict))
        return
    from stoker.health.crash.telling import paragraph

    shown = "standard input" if name == STDIN else wording.shown(name, LONGEST)
    print("\n".join(paragraph(verdict, shown)), flush=True)


def _print_json(name: str, told: dict[str, Any]) -> None:
    import json

    print(json.dumps({"file": name, **told}), flush=True)


def _unread(why: str) -> dict[str, Any]:
    """In place of a verdict: nothing is known but why."""
    keys = ("class", "phase", "line", "action", "confidence")
    return {**dict.fromkeys(keys), "cause": why, "error": why}


def _require_one_stdin(names: list[str | None]) -> None:
    if names.count(STDIN) > 1:
        raise Refused("cannot read standard input twice: - is named twice; write one to a file")


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int], object]]:
    """Counts what is read; on a terminal it shows how far a big file is."""
    size = logs.size(name)
    if not size or size < SHOWS_PROGRESS or not sys.stderr.isatty():
        yield lambda read: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    said = TextColumn("{task.description}", markup=False)
    columns = (said, BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(wording.shown(name, 60), total=size)
        yield lambda read: progress.advance(task, read)
