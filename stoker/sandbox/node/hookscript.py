"""Stand-in: a container's own hook script, `hookscript: local:snippets/NAME`."""

from __future__ import annotations

import os
import subprocess
from typing import Mapping

from .died import Died

SNIPPETS = "/var/lib/vz/snippets"


def file_of(volume: str) -> str:
    """The file of a hook script's volume."""
    return os.path.join(SNIPPETS, os.path.basename(volume))


def check(volume: str) -> None:
    """Die where the script is not there, or cannot be run."""
    if not os.path.exists(file_of(volume)):
        raise Died(f"script '{volume}' does not exist")
    if not os.access(file_of(volume), os.X_OK):
        raise Died(f"script '{volume}' is not executable")


def run(vmid: int, keys: Mapping[str, str], phase: str) -> None:
    """Run it for one phase, its output on our stdout; only `pre-start` may stop what goes on."""
    volume = keys.get("hookscript")
    if not volume:
        return
    words = [file_of(volume), str(vmid), phase]
    code = subprocess.run(words, stderr=subprocess.STDOUT).returncode
    if not code:
        return
    text = f"hookscript error for {vmid} on {phase}: command '{' '.join(words)}' failed: "
    text += f"exit code {code}"
    if phase == "pre-start":
        raise Died(text)
    print(text, flush=True)
