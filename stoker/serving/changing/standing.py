"""A unit as it stands on the machine, beside what is wanted of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Wanted:
    """A unit as it should be."""

    name: str
    flagset: str
    claims: frozenset[str]
    """Ports and GPUs that only one server can have, in words: `port 30000`, `GPU 0`."""


@dataclass(frozen=True)
class Standing:
    """A unit that is there: its file lies on disk, or a process of it runs."""

    name: str
    claims: frozenset[str] = frozenset()
    """What its file takes and, where that is something else, what its process has taken."""
    written: bool = False
    """Its files hold what is wanted."""
    tidy: bool = True
    """Nothing but their text could be better: they are root's, with their modes, and enabled."""
    alive: bool = False
    """A process of it runs or is being started."""
    right: bool = False
    """That process is what the wanted files would start."""
    answers: bool = False
    """It gave a token just now."""
