"""How often the watch has climbed for each container, within the last 24 hours."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from stoker.recovery.replacing import replace

DAY = 86_400.0


@dataclass
class PastRuns:
    """The runs in the file at `path`; each is written down before it starts."""

    path: str

    def within_a_day(self, vmid: int, now: float) -> list[float]:
        """When they started, oldest first; ValueError if the file cannot be understood.

        One that lies in the future counts: the clock went back, and patience is the safer error.
        """
        return sorted(time for time in self._read().get(str(vmid), []) if time > now - DAY)

    def add(self, vmid: int, now: float) -> None:
        """One starts now."""
        runs = {one: [t for t in times if t > now - DAY] for one, times in self._read().items()}
        runs.setdefault(str(vmid), []).append(now)
        self._write(runs)

    def forget(self, vmid: int, started: float) -> None:
        """That one did not take place after all."""
        runs = self._read()
        runs[str(vmid)] = [time for time in runs.get(str(vmid), []) if time != started]
        self._write(runs)

    def _write(self, runs: dict[str, list[float]]) -> None:
        kept = {vmid: times for vmid, times in runs.items() if times}
        replace(self.path, json.dumps({"runs": kept}) + "\n", 0o600)

    def _read(self) -> dict[str, list[float]]:
        if not os.path.exists(self.path):
            return {}
        try:
            with open(self.path, encoding="utf-8") as stream:
                runs = json.load(stream)["runs"]
            return {str(vmid): [float(time) for time in times] for vmid, times in runs.items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            raise ValueError(
                f"cannot count the runs of today: {self.path} is not what was written; delete it"
            ) from None
