"""What is done at most once a boot: resets of GPUs, a reload of the driver."""

from __future__ import annotations

from stoker.recovery import files, stored
from stoker.recovery.machine import Machine

RELOAD = "reload"


class Attempts:
    """The file `attempts.json` of this boot; one of an earlier boot counts for nothing."""

    def __init__(self, machine: Machine) -> None:
        self._path = f"{machine.run}/attempts.json"
        self._boot = files.text(f"{machine.proc}/sys/kernel/random/boot_id").strip()
        told = stored.load(self._path)
        same = isinstance(told, dict) and told.get("boot_id") == self._boot
        made = told.get("made") if same else None
        self.made = frozenset(str(one) for one in made) if isinstance(made, list) else frozenset()

    @property
    def reset(self) -> frozenset[str]:
        """UUIDs of the GPUs that were reset."""
        return self.made - {RELOAD}

    @property
    def reloaded(self) -> bool:
        """Whether the driver was reloaded."""
        return RELOAD in self.made

    def mark(self, what: str) -> None:
        """It is about to be tried."""
        self._keep(self.made | {what})

    def clear(self, what: frozenset[str]) -> frozenset[str]:
        """Forget these; the ones that were there."""
        gone = self.made & what
        if gone:
            self._keep(self.made - gone)
        return gone

    def _keep(self, made: frozenset[str]) -> None:
        self.made = made
        stored.save(self._path, {"boot_id": self._boot, "made": sorted(made)})
