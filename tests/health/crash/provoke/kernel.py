"""What the kernel says while a start runs: of the OOM killer, nothing else."""

from __future__ import annotations

import re
import subprocess

_SAID = re.compile(r"invoked oom-killer|memory: usage|oom-kill:|out of memory: Killed|oom_reaper")


def said() -> list[str]:
    """Its lines so far, each with its time."""
    words = ["dmesg", "--time-format", "iso"]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return [line for line in text.splitlines() if _SAID.search(line)]
