"""What a run has taken and has to give back, and which units have to serve in the end.

It lies in /run: it outlives the run, not a boot. A run that ends before they serve leaves it, so
that the next one still knows that a unit that is down now was not down before.
"""

from __future__ import annotations

import os
import time
from typing import Any

from stoker.health.acts import Change
from stoker.recovery import stored
from stoker.recovery.machine import Machine


class Record:
    """The file `recovery-<vmid>.json`, written before each change and after each is undone."""

    def __init__(self, machine: Machine, vmid: int) -> None:
        self.path = f"{machine.run}/recovery-{vmid}.json"
        told = stored.load(self.path)
        self._told: dict[str, Any] = told if _is_ours(told) else {}

    @property
    def changes(self) -> tuple[Change, ...]:
        """What is still to be given back, oldest first."""
        told = self._told.get("changes", [])
        return tuple(Change(str(one["kind"]), str(one["name"])) for one in told)

    @property
    def wanted(self) -> frozenset[str]:
        """Units that the run wanted to serve in the end."""
        return frozenset(str(name) for name in self._told.get("wanted", []))

    @property
    def since(self) -> str:
        """When its run began; empty if there is no record."""
        return str(self._told.get("since", ""))

    def wants(self, names: frozenset[str]) -> None:
        """Remember the units, until `close`; written with the first change."""
        self._told["wanted"] = sorted(self.wanted | names)
        if self.since:
            stored.save(self.path, self._told)

    def remember(self, change: Change) -> None:
        """Write the change down; it is made afterwards."""
        if change in self.changes:
            return
        since = time.strftime("%Y-%m-%d %H:%M:%S %Z")
        told = self._told.get("changes", [])
        self._told = {
            **self._told,
            "since": self.since or since,
            "pid": os.getpid(),
            "changes": [*told, {"kind": change.kind, "name": change.name}],
        }
        stored.save(self.path, self._told)

    def forget(self, change: Change) -> None:
        """Strike it out: it has been given back."""
        told = [one for one in self._told.get("changes", []) if Change(**one) != change]
        self._told["changes"] = told
        stored.save(self.path, self._told)

    def close(self) -> None:
        """Nothing is left to give back, and what was wanted serves."""
        stored.remove(self.path)
        self._told = {}


def _is_ours(told: Any) -> bool:
    """Whether it is what `Record` writes; anything else is as no record."""
    if not isinstance(told, dict) or not isinstance(told.get("wanted", []), list):
        return False
    changes = told.get("changes", [])
    return isinstance(changes, list) and all(
        isinstance(one, dict) and set(one) == {"kind", "name"} for one in changes
    )
