"""Stand-in: how much memory of a GPU is in use, by its holders and by an injected failure.

Memory that comes back late or never must not follow from the holders alone, or a test of "the
memory is back" would prove nothing. The failure `memory` in the state file is such a residue:
`mode` says when it goes, `mib` how much it is, `gpu` (a UUID, or null for all) where.
"""

from __future__ import annotations

import os
import time
from typing import List

from . import gpu_state
from .gpu_holders import Holder
from .gpu_state import State


class Memory:
    """Answers for one moment: a state, its holders, and where residues are followed."""

    def __init__(self, state: State, holders: List[Holder], directory: str, cgroup: str) -> None:
        self.state = state
        self.holders = holders
        self.directory = directory
        self.cgroup = cgroup

    def of(self, gpu: State) -> List[Holder]:
        """The holders of that GPU's own node."""
        number = tuple(self.state["nodes"][f"nvidia{gpu['minor']}"])
        return [holder for holder in self.holders if number in holder.devices]

    def used_mib(self, gpu: State) -> int:
        """Memory in use in MiB, reserved memory not counted (NVML's second version)."""
        held = len(self.of(gpu)) * int(self.state["holder_memory_mib"])
        most = int(gpu["memory_mib"]) - int(gpu["reserved_mib"])
        return min(most, int(gpu["baseline_mib"]) + held + self.residue_mib(gpu))

    def residue_mib(self, gpu: State) -> int:
        """What stays although nobody holds it."""
        failure = self.state["failures"].get("memory")
        if not failure or failure.get("gpu") not in (None, gpu["uuid"]):
            return 0
        if failure["mode"] == "late-release":
            gone = self._seconds_free(gpu) >= failure["seconds"]
        elif failure["mode"] == "release-after-container-stop":
            gone = not os.path.exists(os.path.join(self.cgroup, "lxc", str(failure["vmid"])))
        else:
            gone = False
        return 0 if gone else int(failure["mib"])

    def _seconds_free(self, gpu: State) -> float:
        """For how long the GPU has been seen without a holder; 0 at the first look."""
        seen = gpu_state.observed(self.directory)
        now = time.time()
        since = None if self.of(gpu) else seen.get(gpu["uuid"], now)
        if seen.get(gpu["uuid"]) != since:
            self._remember({**seen, gpu["uuid"]: since})
        return now - since if since is not None else 0.0

    def _remember(self, seen: State) -> None:
        if os.access(self.directory, os.W_OK):
            gpu_state.save(self.directory, "observed.json", seen)
