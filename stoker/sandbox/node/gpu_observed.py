"""Stand-in: what the driver remembers of each GPU's clients, in `observed.json`.

An observer on the node looks twice a second, and every nvidia-smi there does, so "the memory comes
back 40 s after its last holder" counts from that holder's end and not from the first question.
Inside a container, where only its own processes can be seen, this file tells of the others.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List

from . import gpu_state
from .gpu_holders import Holder
from .gpu_state import State

Observed = Dict[str, Any]
EMPTY: Observed = {"holders": {}, "free_since": {}, "released": {}}


def load(directory: str) -> Observed:
    """By GPU UUID: number of holders, when it was first seen without any, released residues."""
    try:
        with open(os.path.join(directory, "observed.json")) as stream:
            return {**EMPTY, **json.load(stream)}
    except (FileNotFoundError, ValueError):
        return dict(EMPTY)


def holders_of(gpu: State, state: State, holders: List[Holder]) -> List[Holder]:
    """Those of that GPU's own node; a mapping of the one mappable node counts where told to."""
    numbers = {tuple(state["nodes"].get(f"nvidia{gpu['minor']}", ()))}
    if state["failures"].get("mapped") == gpu["uuid"]:
        numbers.add(tuple(state["nodes"].get("nvidia-modeset", ())))
    return [holder for holder in holders if numbers & holder.devices]


def residue_of(gpu: State, state: State) -> State:
    """The failure that keeps this GPU's memory, empty without one."""
    failure: State = state["failures"].get("memory") or {}
    return failure if failure.get("gpu") in (None, gpu["uuid"]) else {}


def looked(
    seen: Observed, state: State, holders: List[Holder], cgroup: str, now: float
) -> Observed:
    """What is known after a look at that time, in seconds since 1970."""
    counts, since, released = {}, {}, dict(seen["released"])
    for gpu in state["gpus"]:
        uuid = gpu["uuid"]
        counts[uuid] = len(holders_of(gpu, state, holders))
        if not counts[uuid]:
            since[uuid] = seen["free_since"].get(uuid, now)
        failure = residue_of(gpu, state)
        if failure and _is_over(failure, since.get(uuid), cgroup, now):
            released[uuid] = failure.get("at")
    return {"holders": counts, "free_since": since, "released": released}


def _is_over(failure: State, free_since: "float | None", cgroup: str, now: float) -> bool:
    if failure["mode"] == "release-after-container-stop":
        return not os.path.exists(os.path.join(cgroup, "lxc", str(failure["vmid"])))
    if failure["mode"] == "late-release" and free_since is not None:
        begun = max(free_since, failure.get("at", 0))
        return bool(now - begun >= failure["seconds"])
    return False


def is_released(gpu: State, seen: Observed, failure: State) -> bool:
    """Whether that residue has gone; what a later holder leaves is another one."""
    uuid = gpu["uuid"]
    return uuid in seen["released"] and seen["released"][uuid] == failure.get("at")


def remember(directory: str, before: Observed, after: Observed) -> None:
    """Write it where it differs."""
    if after != before:
        gpu_state.save(directory, "observed.json", after)
