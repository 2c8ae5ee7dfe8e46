"""Whether a container can be asked at all, before somebody takes its silence for an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stoker.pct.errors import Frozen, PctError, Stopped

_STATES = ((Stopped, "stopped"), (Frozen, "frozen"))


@dataclass(frozen=True)
class Closed:
    """Why it cannot."""

    state: str
    """stopped, frozen, unreachable."""
    why: str
    """A sentence."""


def closed(connector: Any) -> Closed | None:
    """None: it can, or it is reached without its node."""
    vmid = getattr(connector, "vmid", None)
    if vmid is None:
        return None
    try:
        connector.node.run("true", vmid=vmid)
    except PctError as error:
        state = next((name for kind, name in _STATES if isinstance(error, kind)), "unreachable")
        return Closed(state, str(error))
    return None
