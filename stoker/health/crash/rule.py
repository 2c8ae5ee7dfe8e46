"""One row of `crash_causes.yaml` as a rule, its expressions not compiled before they are tried."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stoker.health.crash import versions

VOICES = (
    "message",
    "exception",
    "kernel",
    "systemd",
    "nccl",
    "torch",
    "usage",
    "compiler",
    "loader",
    "warning",
    "shell",
    "fatal",
)
"""What a row may be about (`in`)."""
ROLES = ("cause", "echo", "hint")
"""cause: what happened. echo: what another's death looks like from here. hint: a warning that
explains a later failure of the same class, and that alone is none."""


class Pattern:
    """A regular expression, compiled when it is first tried: most never are."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    @functools.cached_property
    def match(self) -> Callable[[str], re.Match[str] | None]:
        """At the beginning of a text."""
        return re.compile(self.pattern).match

    @functools.cached_property
    def search(self) -> Callable[[str], re.Match[str] | None]:
        """Anywhere in it."""
        return re.compile(self.pattern).search


@dataclass(frozen=True)
class Rule:
    """One row."""

    id: str
    name: str
    """The class."""
    voice: str
    role: str
    pattern: Pattern | None
    detail: Pattern | None
    names: frozenset[str]
    frame: Pattern | None
    raised_in: Pattern | None
    source: Pattern | None
    phases: frozenset[str]
    phase: str
    usual: str
    cause: str
    action: str
    confidence: str
    leads: bool = False
    """A hint whose line is the one to show."""
    sglang: versions.Bounds = ()
    """Of the versions that print it; none: any may."""

    def prints(self, version: str) -> bool:
        """Whether that version of SGLang is known to print it, or not known."""
        return versions.within(self.sglang, version)


def made(row: dict[str, Any]) -> Rule:
    """The rule of a row."""

    def compiled(key: str) -> Pattern | None:
        return Pattern(row[key]) if key in row else None

    return Rule(
        id=row["id"],
        name=row["class"],
        voice=row["in"],
        role=row.get("role", "cause"),
        pattern=compiled("pattern"),
        detail=compiled("detail"),
        names=frozenset(row.get("names", ())),
        frame=compiled("frame"),
        raised_in=compiled("raised_in"),
        source=compiled("source_line"),
        phases=frozenset(row.get("phases", ())),
        phase=row.get("phase", ""),
        usual=row.get("usual", ""),
        cause=row["cause"],
        action=row.get("action", ""),
        confidence=row.get("confidence", "high"),
        leads=row.get("leads", False),
        sglang=versions.bounds(row["sglang"]),
    )
