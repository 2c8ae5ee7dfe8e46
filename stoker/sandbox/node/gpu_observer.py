"""STAND-IN: keeps what a driver would tell in step with the processes that really hold GPUs.

`python3 -m smi.gpu_observer` looks twice a second for as long as the node runs; with `--once` it
looks once, which is what `break` and the stand-in modprobe call.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from typing import Optional, Sequence

from . import gpu_holders, gpu_kernel, gpu_observed, gpu_state

EVERY_S = 0.5


class Observer:
    """Remembers what it last wrote, so that a quiet node costs one scan and no write."""

    def __init__(
        self,
        directory: str = gpu_state.DIRECTORY,
        proc: str = "/proc",
        cgroup: str = "/sys/fs/cgroup",
    ) -> None:
        self.directory = directory
        self.proc = proc
        self.cgroup = cgroup
        self.written: Optional[gpu_kernel.Tree] = None

    def look(self) -> None:
        """One look; the tree and `observed.json` are right afterwards.

        Two at once would take each other's unfinished files for ones that do not belong.
        """
        with open(os.path.join(self.directory, "observer.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._look()

    def _look(self) -> None:
        state = gpu_state.load(self.directory)
        holders = gpu_holders.of_node(self.proc, state)
        before = gpu_observed.load(self.directory)
        after = gpu_observed.looked(before, state, holders, self.cgroup, time.time())
        gpu_observed.remember(self.directory, before, after)
        wanted = gpu_kernel.tree(state, holders)
        if wanted != self.written:
            gpu_kernel.write(self.directory, wanted)
            self.written = wanted


def main(words: Sequence[str]) -> int:
    """Look once, or on and on; a file that is being replaced is read at the next look."""
    observer = Observer()
    if "--once" in words:
        observer.look()
        return 0
    while True:
        try:
            observer.look()
        except (OSError, ValueError) as error:
            print(error, file=sys.stderr, flush=True)
        time.sleep(EVERY_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
