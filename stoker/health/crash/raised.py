"""One exception of a log, whole or as far as it was read."""

from __future__ import annotations

from dataclasses import dataclass, field

from stoker.health.crash.line import Line


@dataclass
class Raised:
    """One exception, as printed."""

    number: int
    """Of the line with its name."""
    name: str
    """Without its module: `OutOfMemoryError`."""
    said: list[tuple[int, str]]
    """The lines of its message with their numbers, the first without the name."""
    frames: list[str]
    """`file:function`, the innermost last; empty: none were seen."""
    source: str
    """The source line that raised it; empty: none was seen."""
    source_number: int
    """Of that line; 0: none was seen."""
    line: Line
    """The line with its name; its rank and time are the header's where it has none."""
    context: str
    """What was said before `Traceback`; empty: nothing."""
    chain: int
    """The same for exceptions that are one's causes of the other."""
    bare: bool = False
    """No traceback stood before it."""
    phase: str = ""
    """Where its rank was then."""
    alive: int = 0
    """Lines of served batches before it."""
    direct: bool = False
    """It was raised to say the one before it in other words (`raise ... from`)."""


@dataclass
class Opened:
    """A traceback whose end was not read yet."""

    line: Line
    context: str
    chain: int
    frames: list[str] = field(default_factory=list)
    source: str = ""
    source_number: int = 0
    raised: Raised | None = None
    lines: int = 0
    linked: bool = False
    direct: bool = False
    outer: Opened | None = None
