"""Stand-in: how much memory of a GPU is in use, by its holders and by an injected failure.

Memory that comes back late or never must not follow from the holders alone, or a test of "the
memory is back" would prove nothing. The failure `memory` in the state file is such a residue:
`mode` says when it goes, `mib` how much it is, `gpu` (a UUID, or null for all) where, `at` since
when (seconds since 1970). Once gone it stays gone, although a new server holds the GPU again.
"""

from __future__ import annotations

import time
from typing import List

from . import gpu_observed, gpu_state
from .gpu_holders import Holder
from .gpu_state import State


class Memory:
    """Answers for one moment: a state, its holders, and where residues are followed."""

    def __init__(self, state: State, holders: List[Holder], directory: str, cgroup: str) -> None:
        self.state = state
        self.holders = holders
        self.directory = directory
        seen = gpu_observed.load(directory)
        self.on_node = gpu_state.writable(directory)
        self.seen = seen
        if self.on_node:
            self.seen = gpu_observed.looked(seen, state, holders, cgroup, time.time())
            gpu_observed.remember(directory, seen, self.seen)

    def of(self, gpu: State) -> List[Holder]:
        """The holders of that GPU's own node that can be seen from here."""
        return gpu_observed.holders_of(gpu, self.state, self.holders)

    def count(self, gpu: State) -> int:
        """How many hold it, on the whole node."""
        return max(len(self.of(gpu)), int(self.seen["holders"].get(gpu["uuid"], 0)))

    def used_mib(self, gpu: State) -> int:
        """Memory in use in MiB, reserved memory not counted (NVML's second version).

        What a holder leaves behind was its own: it does not add to what is held.
        """
        held = self.count(gpu) * int(self.state["holder_memory_mib"])
        most = int(gpu["memory_mib"]) - int(gpu["reserved_mib"])
        return min(most, int(gpu["baseline_mib"]) + max(held, self.residue_mib(gpu)))

    def residue_mib(self, gpu: State) -> int:
        """What stays although nobody holds it."""
        failure = gpu_observed.residue_of(gpu, self.state)
        if not failure or gpu_observed.is_released(gpu, self.seen, failure):
            return 0
        return int(failure["mib"])
