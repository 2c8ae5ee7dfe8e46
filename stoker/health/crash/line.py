"""One line of a log without its prefixes: what it says, who said it, and when."""

from __future__ import annotations

from dataclasses import dataclass

PROGRAM, SYSTEMD, KERNEL = "program", "systemd", "kernel"
"""Who may have said it."""


@dataclass
class Line:
    """A line without its prefixes."""

    number: int
    """In the log, from 1."""
    text: str
    origin: str = PROGRAM
    """Who said it: `program`, `systemd` or `kernel`."""
    ident: str = ""
    """Of journald: who printed it; empty in a bare log."""
    pid: str = ""
    rank: str = ""
    """As SGLang or torch names it: `TP3`, `DP0 TP1`, `rank0`; empty: none is named."""
    stamp: float | None = None
    """Seconds since the year began; None: no clock on it."""
    year: int | None = None
    dated: bool = False
    """SGLang's own prefix was on it: a message begins here."""
    voice: str = ""
    """`nccl`: NCCL's warning; `torch`: of its C++ half; empty: anything else."""
    gpu: str = ""
    """Of an NCCL line: the device it was printed for."""
