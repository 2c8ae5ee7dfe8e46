"""What of a server has to be known to follow it to its token and to say why it gave none."""

from typing import Protocol


class Followed(Protocol):
    """A unit as wanted is one, and so is one that is put back."""

    @property
    def name(self) -> str: ...
    @property
    def flagset(self) -> str: ...
    @property
    def model(self) -> str:
        """The name it answers to."""

    @property
    def port(self) -> int: ...
    @property
    def local_url(self) -> str: ...
    @property
    def python(self) -> str:
        """Of its venv."""

    @property
    def requires(self) -> str:
        """Its staging unit; empty: none."""

    @property
    def gpus(self) -> tuple[int, ...]: ...
    @property
    def secrets(self) -> tuple[tuple[str, str], ...]:
        """What must not be shown of its lines."""
