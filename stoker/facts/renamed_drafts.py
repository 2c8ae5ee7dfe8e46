"""Copies of draft models with the names that SGLang loads: what is there of each."""

import json
from dataclasses import dataclass

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.serving.rendering import INSIDE


@dataclass(frozen=True)
class Renamed:
    """One copy. `error`: a sentence on why it cannot be made; None: nothing is in its way."""

    state: str
    """right, unswept (right, beside leftovers of a run that died), stale (the source has changed
    since), absent, or foreign (not ours)."""
    error: str | None = None


class RenamedDraft(FactBase[Renamed | None]):
    """What is at `destination` of the copy of `source`; None: nobody could look.

    + python: the interpreter that looks

    Source: the mark in the copy, and names, sizes, times and headers of the source's files.
    """

    def command(self, source: str, destination: str, python: str) -> StringCommand:
        return script(source, destination, python, act=False)

    def process(self, output: list[str]) -> Renamed | None:
        told = next((json.loads(line) for line in output if line.startswith("{")), None)
        return None if told is None else Renamed(told["state"], told["error"])


def script(source: str, destination: str, python: str, act: bool) -> StringCommand:
    """The command that looks, or with `act` makes the copy and ends with 1 if it cannot."""
    text = (INSIDE / "rename_draft.py").read_text(encoding="utf-8")
    asked = json.dumps({"source": source, "destination": destination, "act": act})
    # A file system that hangs must not hang a look; a copy may take its time.
    limit = () if act else ("timeout", "60")
    words = (QuoteString(python), "-I", "-c", QuoteString(text), QuoteString(asked))
    return StringCommand(*limit, *words)
