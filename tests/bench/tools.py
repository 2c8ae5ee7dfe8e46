"""What is measured: each tool applies the role to some containers and says what it did."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stoker.sandbox.state import Container


@dataclass(frozen=True)
class Done:
    """One run of a tool. `commands` to all containers; None where only pct's starts tell them.

    `changed` counts operations of all containers that changed something. `connected_s` is the time
    from the first connect to the last answer, None where the tool does not tell.
    """

    seconds: float
    changed: int
    commands: int | None = None
    connected_s: float | None = None


class Tool(Protocol):
    """A way to keep the role on containers."""

    name: str

    def run(self, containers: list[Container]) -> Done:
        """Apply the role; `Refused` when an operation fails."""
        ...


HERE = Path(__file__).resolve().parent
ROLE = HERE / "role"
