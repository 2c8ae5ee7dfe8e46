"""For how long a run is taken to be alive, without which its switch is undone."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Lease:
    """When a run that switches a server has died, or has lost its way to the machine."""

    seconds: float = 90
    """So long after its last sign of life."""
    margin_s: float = 60
    """A command that takes so much longer than its time limit hangs, and the run with it."""
