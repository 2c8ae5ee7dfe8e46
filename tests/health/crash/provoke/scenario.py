"""What one provocation is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.health.crash.provoke import models, world
from tests.health.crash.provoke.server import READY, Server

BOTH = ("0.5.12", "0.5.23")


def tiny() -> None:
    models.whole("tiny")


def left_alone(server: Server) -> str:
    """It ends by itself; if it comes up against all expectation, it is stopped."""
    if not server.saw(READY, 150):
        return ""
    server.generate("Hello", 16)
    server.end()
    return "it came up, answered, and was stopped by SIGTERM to the main process"


@dataclass(frozen=True)
class Scenario:
    """A start that fails, or does not."""

    flags: dict[str, str | None] = field(default_factory=dict)
    env: dict[str, str | None] = field(default_factory=dict)
    model: str = "tiny"
    prepare: Callable[[], object] = tiny
    """What is done to the world before."""
    act: Callable[[Server], object] = left_alone
    """What is done to the server, as a sentence."""
    words: list[str] | None = None
    """The whole command line, where it is another."""
    user: int = world.USER
    seconds: float = 100
    """How long to wait for its end, after the act."""
    versions: tuple[str, ...] = BOTH
