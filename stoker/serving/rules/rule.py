"""A row of known-bad combinations, read."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stoker.serving.checking.reason import Severity


@dataclass(frozen=True)
class Algorithms:
    """What a NCCL_ALGO leaves to one collective."""

    collective: str = ""
    """As NCCL calls it, `AllGather`; empty: asks for a value that NCCL does not read."""
    only: frozenset[str] = frozenset()
    """It leaves nothing but some of these, in lower case; nothing at all counts too."""
    some: frozenset[str] = frozenset()
    """... and at least one of these, if any is named."""


@dataclass(frozen=True)
class Match:
    """What is asked of one value; everything that is said must hold."""

    among: tuple[Any, ...] | None = None
    """Equal to one of them. `true` and `false` ask for a switch or a yes/no text; false holds for
    what is absent."""
    none_of: tuple[Any, ...] | None = None
    """Equal to none of them; holds for what is absent."""
    over: float | None = None
    under: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    matches: str = ""
    """A regular expression, found anywhere in it, upper or lower case."""
    given: bool | None = None
    """Whether the command line itself names it."""
    set: bool | None = None
    """Whether there is a value, a default counts."""
    algorithms: Algorithms | None = None


@dataclass(frozen=True)
class Condition:
    """When a row fires: everything that is said must hold."""

    sglang: str = ""
    """Specifiers as packaging knows them, `>=0.5.12,<0.5.17`; empty: any version."""
    matches: tuple[tuple[str, Match], ...] = ()
    """Subject, `flags.attention-backend` for instance, -> what is asked of it."""
    any: tuple["Condition", ...] = ()
    """One of them at least, if there are some."""


@dataclass(frozen=True)
class Example:
    """A question, as short as a row's own example may be."""

    sglang: str = "0.5.12"
    flags: Mapping[str, Any] = field(default_factory=dict)
    """As a flag set has them: long option -> value, true for a switch."""
    env: Mapping[str, str] = field(default_factory=dict)
    gpu: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Rule:
    """One row."""

    id: str
    """By which it is waived, or replaced in the operators' own file."""
    name: str
    """The class of its reason."""
    severity: Severity
    when: Condition
    because: str
    """What happens and why, lower case; `{NCCL_ALGO}` and `{tp-size}` stand for their values."""
    do: str
    """The one thing to do."""
    source: str
    fires: Example
    silent: Example
    """A near miss."""
    recheck: datetime.date | None = None
    """From this day on nobody vouches for it; None: it speaks of versions that no longer change."""
    origin: str = ""
    """The file it is from; empty: our own."""
