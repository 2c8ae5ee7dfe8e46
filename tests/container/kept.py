"""A container's configuration as Proxmox changes it: what is pending, and what a start makes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stoker.container.configuration import Configuration
from stoker.container.difference import Difference

_AT_ONCE = {"cores", "description", "hostname", "onboot", "protection", "startup", "tags"}
_IN_PLACE = {"memory", "swap", "net"}


@dataclass
class Kept:
    """As pve-container's update_pct_config has it, with the quirk that was measured: what is both
    changed and deleted comes changed."""

    now: dict[str, str]
    pending: dict[str, str] = field(default_factory=dict)
    deletes: set[str] = field(default_factory=set)
    running: bool = True
    plugs_devices: bool = True

    def read(self) -> Configuration:
        return Configuration(dict(self.now), (), dict(self.pending), tuple(sorted(self.deletes)))

    def put(self, found: Difference) -> None:
        """As an operation does: what is taken back first, in a call of its own."""
        if found.reverts:
            self.set({}, (), found.reverts)
        self.set(found.options, found.deletes, ())

    def set(
        self, options: Mapping[str, str], deletes: Sequence[str], reverts: Sequence[str]
    ) -> None:
        for key in reverts:
            assert key not in options and key not in deletes
            self.pending.pop(key, None)
            self.deletes.discard(key)
        for key in deletes:
            assert key not in options
            self.deletes.add(key)
        self.pending |= options
        self.deletes -= options.keys()
        self._tidy()
        self._hotplug() if self.running else self.start()
        self._tidy()

    def start(self) -> None:
        for key in self.deletes:
            self.now.pop(key, None)
        self.now |= self.pending
        self.pending, self.deletes = {}, set()

    def _tidy(self) -> None:
        same = [key for key, value in self.pending.items() if self.now.get(key) == value]
        for key in same:
            del self.pending[key]
        self.deletes &= self.now.keys()

    def _hotplug(self) -> None:
        for key in [key for key in self.deletes if self._stem(key) in _AT_ONCE | _IN_PLACE]:
            self.deletes.discard(key)
            self.now.pop(key, None)
        for key in [key for key in self.pending if self._plugs(key)]:
            self.now[key] = self.pending.pop(key)

    def _plugs(self, key: str) -> bool:
        stem = self._stem(key)
        new = key not in self.now
        device = stem == "dev" and self.plugs_devices
        return stem in _AT_ONCE | _IN_PLACE or (new and (stem == "mp" or device))

    @staticmethod
    def _stem(key: str) -> str:
        return key.rstrip("0123456789")
