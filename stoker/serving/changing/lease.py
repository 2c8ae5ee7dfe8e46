"""For how long a run is taken to be alive, without which its switch is undone."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Lease:
    """A run that shows no sign of life for so long has died, or has lost its way to the machine."""

    seconds: float = 90
    margin_s: float = 60
    """A command that takes so much longer than its time limit hangs."""

    def due(self, left_s: float) -> bool:
        """Whether it is to be renewed: not at every look, and well before it ends."""
        return left_s < self.seconds * 0.9
