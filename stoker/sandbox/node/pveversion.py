"""Stand-in: the program `pveversion`."""

from __future__ import annotations

import os
from typing import Sequence

from . import version


def main(words: Sequence[str]) -> int:
    """One line; with -v or --verbose one line a package."""
    kernel = os.uname().release
    if not {"-v", "--verbose", "-verbose"} & set(words):
        running = f"running kernel: {kernel}"
        print(f"pve-manager/{version.manager()}/{version.REPOSITORY} ({running})")
        return 0
    for name, number in version.packages().items():
        more = f" (running kernel: {kernel})" if name == "proxmox-ve" else ""
        if name == "pve-manager":
            more = f" (running version: {number}/{version.REPOSITORY})"
        print(f"{name}: {number}{more}")
    return 0
