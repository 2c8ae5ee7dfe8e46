"""One run of a server out of a log: how far it came, what speaks for its end, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from stoker.health.crash.phases import Phases
from stoker.health.crash.rule import Rule

_MOST_CANDIDATES = 256


@dataclass
class Candidate:
    """One line that may be the cause."""

    number: int
    """Of the line; 0: it is none of this log's, but of the kernel's."""
    text: str
    rule: Rule | None
    """None: an exception that no row knows."""
    found: dict[str, str]
    """What the rule found in the line."""
    rank: str
    stamp: float | None
    year: int | None
    phase: str
    fatal: bool | None
    """Whether its process cannot have lived on; None: it is not said."""
    alive: int
    """Lines of batches before it."""
    origin: str
    chain: int = 0
    """Of exceptions that are one's cause of the other; 0: of none."""
    gpu: str = ""


@dataclass
class Ending:
    """A line that says that the run, or a process of it, ended."""

    number: int
    text: str
    stamp: float | None
    year: int | None
    kind: str
    """wrapper: a process of it says so. exit: systemd says how. result: systemd's last word.
    control: a check before the start failed."""
    status: str = ""
    """`9`, `-11`, `exit-code`: whatever the line gives."""
    phase: str = ""


@dataclass
class Run:
    """From one start to the next."""

    linked: bool = False
    """systemd itself started it again after the run before."""
    phases: Phases = field(default_factory=Phases)
    candidates: list[Candidate] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    stop: Ending | None = None
    """Somebody asked it to stop."""
    restart: Ending | None = None
    """systemd's word that it starts it again after this run."""
    limit: bool = False
    """systemd gave up."""
    served: bool = False
    """A line shows that it answered, or was running, before it ended."""
    decoded: bool = False
    """Decode batches were seen after it was ready."""
    program: int = 0
    """Lines that the program printed."""
    read: int = 0
    """Of these, lines that were read."""
    systemd: int = 0
    kernel: int = 0
    first: int = 0
    first_stamp: float | None = None
    last_stamp: float | None = None
    alive: int = 0
    """Lines of batches up to its end."""
    alive_stamp: float | None = None
    starting: bool = False
    """systemd said Starting and not yet Started."""

    def add(self, candidate: Candidate) -> None:
        """Another line that may be the cause; of very many, the first ones."""
        if len(self.candidates) < _MOST_CANDIDATES:
            self.candidates.append(candidate)

    def ending(self, ending: Ending) -> None:
        """Another line about its end; of very many, the first ones."""
        if len(self.endings) < 64:
            self.endings.append(ending)

    @property
    def died(self) -> bool:
        """Whether a line says that it ended without having been asked to."""
        return any(self.stop is None or end.number < self.stop.number for end in self.endings)

    @property
    def ready(self) -> bool:
        """Whether it came so far that it answered."""
        return self.phases.ready is not None or self.served
