"""Stand-in: the state of GPUs that do not exist, as nvidia-smi and the device nodes read it.

`stoker/sandbox/gpu.py` writes the first one. In a container the directory is mounted read-only, so
everything that changes it answers there as a driver does to one without permission.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from typing import Any, Dict, Iterator

State = Dict[str, Any]
DIRECTORY = "/var/lib/stoker-gpu"


def load(directory: str) -> State:
    """The state file of the node."""
    with open(os.path.join(directory, "state.json")) as stream:
        state: State = json.load(stream)
    return state


def save(directory: str, name: str, content: State) -> None:
    """Replace a file of the directory; raises OSError where it is read-only."""
    path = os.path.join(directory, name)
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w") as stream:
        json.dump(content, stream, indent=2)
    os.replace(temporary, path)


@contextmanager
def changing(directory: str) -> Iterator[State]:
    """The state to be changed; nobody else changes it meanwhile, and it is then put back."""
    with open(os.path.join(directory, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = load(directory)
        yield state
        save(directory, "state.json", state)


def writable(directory: str) -> bool:
    """Whether this is the node; in a container the directory is read-only."""
    return os.access(directory, os.W_OK)
