"""One change of a container's configuration."""

from dataclasses import dataclass
from enum import Enum


class Effect(Enum):
    """When a change reaches a container, in an operator's words."""

    NOW = "at once"
    PLUGGED = "plugged in while it runs"
    RESTART = "at the next start"


@dataclass(frozen=True)
class Change:
    """One key."""

    key: str
    before: str | None
    """What holds, or what was to come (`reverted`); None: the key is not there."""
    after: str | None
    """None: the key goes."""
    effect: Effect
    reverted: bool = False
    """Somebody's change that waits for the next start is taken back; that is all."""
