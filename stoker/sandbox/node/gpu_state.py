"""Stand-in: the state of GPUs that do not exist, as nvidia-smi and the device nodes read it.

`stoker/sandbox/gpu.py` writes the first one. In a container the directory is mounted read-only, so
everything that changes it answers there as a driver does to one without permission.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict

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
    with open(path + ".new", "w") as stream:
        json.dump(content, stream, indent=2)
    os.replace(path + ".new", path)


def observed(directory: str) -> State:
    """When each GPU was first seen without a holder, in seconds since 1970; empty if never."""
    try:
        with open(os.path.join(directory, "observed.json")) as stream:
            seen: State = json.load(stream)
    except FileNotFoundError:
        return {}
    return seen
