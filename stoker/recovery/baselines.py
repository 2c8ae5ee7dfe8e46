"""How much memory a GPU uses when nobody holds it, learned per GPU and driver version.

The least ever seen with nobody there in a complete scan. What is above the first guess is never
learned: it is somebody's.
"""

from __future__ import annotations

import json
from typing import Any, Dict

from stoker.recovery import stored
from stoker.recovery.machine import Machine
from stoker.recovery.replacing import replace

GUESS_MIB = 1024
TOLERANCE_MIB = 256

Learned = Dict[str, Dict[str, int]]
"""MiB by UUID and driver version."""


def load(machine: Machine) -> Learned:
    """What has been learned; a file that cannot be read is as none."""
    return {uuid: known for uuid, known in _of(stored.load(_path(machine))) if known}


def after(learned: Learned, version: str, free_mib: Dict[str, int]) -> Learned:
    """As `learned`, with what GPUs without a holder use now."""
    result = {uuid: dict(known) for uuid, known in learned.items()}
    for uuid, used in free_mib.items():
        if version and uuid and used <= GUESS_MIB:
            known = result.setdefault(uuid, {})
            known[version] = min(used, known.get(version, used))
    return result


def save(machine: Machine, learned: Learned) -> None:
    """Keep it, at once or not at all."""
    replace(_path(machine), json.dumps(learned, indent=2, sort_keys=True) + "\n")


def limit_mib(learned: Learned, uuid: str, version: str) -> tuple[int, bool]:
    """Up to how much counts as free, and whether that was learned."""
    known = learned.get(uuid, {}).get(version)
    if known is None:
        return GUESS_MIB, False
    return min(known + TOLERANCE_MIB, GUESS_MIB), True


def _path(machine: Machine) -> str:
    return f"{machine.state}/gpu-baseline.json"


def _of(told: Any) -> list[tuple[str, dict[str, int]]]:
    if not isinstance(told, dict):
        return []
    return [
        (uuid, {version: mib for version, mib in known.items() if type(mib) is int})
        for uuid, known in told.items()
        if isinstance(known, dict)
    ]
