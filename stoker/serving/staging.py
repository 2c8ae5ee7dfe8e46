"""A model that is served from memory: copied from disk to /dev/shm before its servers start."""

from dataclasses import dataclass

from stoker.serving import layout, quoting
from stoker.serving.flagset import FlagSet


@dataclass(frozen=True)
class Stage:
    """A oneshot unit that makes the copy; every start of a server runs it, also after a reboot.

    The copy counts in the container's memory, whole, for as long as it lies there.
    """

    flagset: str
    source: str
    destination: str

    @property
    def name(self) -> str:
        """The unit's name."""
        return f"sglang-stage-{self.flagset}.service"

    @property
    def identifier(self) -> str:
        """Its lines' tag in the journal."""
        return self.name.removesuffix(".service")

    @property
    def description_line(self) -> str:
        """What systemd shows."""
        return quoting.text(f"Model of {self.flagset}, copied into memory")

    @property
    def exec_start(self) -> str:
        """The copy's command, quoted."""
        return quoting.command((str(layout.STAGER), self.source, self.destination))


def stage_of(flagset: FlagSet) -> Stage | None:
    """The staging a flag set needs; None if its model is served from where it lies."""
    model = flagset.model
    return Stage(flagset.name, model.staged_from, model.path) if model.staged_from else None
