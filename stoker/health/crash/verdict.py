"""What a log comes to: one class, the line that shows it, and the one thing to do."""

from __future__ import annotations

from dataclasses import dataclass

HEALTHY = "none"
"""The class of a log in which nothing is wrong, however it reads."""
PHASES = (
    "ct_start",  # the container itself does not start
    "preflight",  # before the server: a guard or check of the unit
    "exec",  # the program cannot be run at all
    "flags",  # the command line
    "import",  # Python modules, configuration, before any worker
    "dist_init",  # ranks find each other
    "load",  # weights
    "draft_load",  # weights of the draft model
    "kv_pool",  # KV cache
    "hicache",  # host memory of the hierarchical cache
    "graph_capture",  # CUDA graphs, kernels compiled for them
    "scheduler_init",  # what is left of the scheduler's start
    "bind",  # the port
    "ready",  # fired up, nothing asked yet
    "prefill",
    "decode",
    "serving",  # answering, and neither of both can be told
    "systemd",  # only systemd's own lines are there
    "host",  # only the node's are
    "unknown",  # nothing shows how far it came
)
"""How far a server had come, in the order of a start."""
CONFIDENCES = ("high", "medium", "low")
"""high: a line says it itself; medium: it follows from several; low: no cause was found."""


@dataclass(frozen=True)
class Verdict:
    """What one log, or one death, comes to."""

    name: str
    """The class, one of the rows of `crash_classes.yaml`."""
    phase: str
    """One of `PHASES`."""
    line: int | None
    """Of the log, from 1; None: no line of it shows the cause."""
    text: str
    """That line without prefixes, secrets and anything beyond 500 characters; empty without one."""
    cause: str
    """What happened, one sentence."""
    action: str
    """What to do first, one sentence that fits the phase and the version."""
    confidence: str
    """One of `CONFIDENCES`."""
    time: float | None = None
    """Of that line: seconds since 1970 as if its clock were UTC's; None: it has none."""
    details: tuple[str, ...] = ()
    """What else speaks for it; without a cause: what was looked at, and the last lines."""
