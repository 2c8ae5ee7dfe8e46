"""What `break` has started and changed in an instance, in its directory, for `heal` to take back.

It is written before the thing is done, so that a `break` that was killed is healed as well.
"""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from stoker.sandbox.files import write_atomically
from stoker.sandbox.state import State

Identity = tuple[int, int]


@dataclass(frozen=True)
class Started:
    """One scenario's doings on one node."""

    node: str
    mark: str
    """In the environment of every process it started."""
    processes: tuple[Identity, ...] = ()
    """Pid on the node and start time in ticks of those it left."""
    sessions: tuple[Identity, ...] = ()
    """Sessions whose members are all its own, by their leader."""
    service: str = ""
    """A unit that it made and started on the node."""
    device: tuple[int, str] | None = None
    """VMID and key of a device that it passed to a container."""
    frozen: bool = False
    """Whether it froze a file system."""
    files: tuple[str, ...] = field(default=())
    """Files that it made in CT 200."""


def _path(state: State) -> Path:
    return state.directory / "stuck.json"


def load(state: State) -> list[Started]:
    """Everything that was not healed yet."""
    try:
        told: list[dict[str, Any]] = json.loads(_path(state).read_text())
    except FileNotFoundError:
        return []
    return [_read(one) for one in told]


def _read(told: dict[str, Any]) -> Started:
    for name in ("processes", "sessions"):
        told[name] = tuple((pid, start) for pid, start in told[name])
    told["files"] = tuple(told["files"])
    told["device"] = tuple(told["device"]) if told["device"] else None
    return Started(**told)


def save(state: State, one: Started) -> None:
    """Add it, or replace the one with its mark."""
    others = [other for other in load(state) if other.mark != one.mark]
    _write(state, [*others, one])


def forget(state: State, one: Started) -> None:
    """It is healed."""
    _write(state, [other for other in load(state) if other.mark != one.mark])


def _write(state: State, every: list[Started]) -> None:
    if every:
        write_atomically(_path(state), json.dumps([asdict(one) for one in every], indent=2) + "\n")
    else:
        _path(state).unlink(missing_ok=True)


def changed(state: State, one: Started, **more: Any) -> Started:
    """The same with these fields, saved."""
    found = replace(one, **more)
    save(state, found)
    return found
