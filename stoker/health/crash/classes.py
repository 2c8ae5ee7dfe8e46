"""The classes of crashes: what each is, how to make sure of it, and what to do."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from stoker.health.crash import rows
from stoker.health.crash.verdict import PHASES

GRAPH_FLAG = "{graph_max_bs}"
"""In an action: the flag for the largest captured batch, whose name differs by version."""
GRAPH_FLAG_OF_ANY = "--cuda-graph-max-bs (--cuda-graph-max-bs-decode in newer versions)"


@dataclass(frozen=True)
class CrashClass:
    """One row of `crash_classes.yaml`."""

    name: str
    """Stable: reports, the runbook's anchors and other people's scripts use it."""
    title: str
    """A few words, as of a heading."""
    meaning: str
    """What happened, one or two sentences."""
    confirm: str
    """How to make sure of it by hand."""
    action: str
    """What to do first, whatever the phase."""
    avoid: str
    """What looks like help and is none; empty: nothing is known."""
    phases: dict[str, str]
    """Phase -> what to do first there, where it differs."""
    evidence: tuple[str, ...]
    """Where it is from: repo#number, file:line, or measured."""
    see: tuple[str, ...]
    """Other classes it is taken for, or that come with it."""

    def by_phase(self) -> list[tuple[str, str]]:
        """`phases` in the order of a start, in words for a version that is not known."""
        return [
            (phase, self.phases[phase].replace(GRAPH_FLAG, GRAPH_FLAG_OF_ANY))
            for phase in PHASES
            if phase in self.phases
        ]


@functools.lru_cache(maxsize=None)
def known() -> dict[str, CrashClass]:
    """Every class by its name, in the order of the table. Not to be changed."""
    return {row["name"]: _class(row) for row in rows.of("crash_classes")}


def _class(row: dict[str, object]) -> CrashClass:
    made = dict(row)
    made["evidence"] = tuple(row["evidence"])  # type: ignore[arg-type]
    made["see"] = tuple(row["see"])  # type: ignore[arg-type]
    return CrashClass(**made)  # type: ignore[arg-type]
