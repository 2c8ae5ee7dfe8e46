"""Key by key: what is right already, what only waits, what is set, taken back or removed."""

from stoker.container.change import Change, Effect
from stoker.container.configuration import Configuration
from stoker.container.normal import same
from stoker.container.property_string import Edit
from stoker.container.slots import stem_of
from stoker.container.version import Version

# What a running container takes (pve-container's LXC/Config.pm; seen on a node of 6.1.10).
_AT_ONCE = {"cores", "description", "hostname", "onboot", "protection", "startup", "tags"}
_IN_PLACE = {"memory", "net", "swap"}


class Settling:
    """The changes that one configuration needs, collected."""

    def __init__(self, actual: Configuration, version: Version, running: bool) -> None:
        self.actual = actual
        self.version = version
        self.at_start = Effect.RESTART if running else Effect.NOW
        self.changes: list[Change] = []
        self.waiting: list[Change] = []

    def settle(self, key: str, edit: Edit) -> None:
        """Have the next start bring what `edit` makes of this key."""
        now, coming = self.actual.keys.get(key), self.actual.coming.get(key)
        # Both changed and deleted: the next write may decide it either way.
        is_torn = key in self.actual.pending and key in self.actual.deletes
        if same(key, coming, edit(coming)) and not is_torn:
            self._wait(key, now, coming)
        elif now is not None and same(key, now, edit(now)):
            self.changes.append(Change(key, coming, now, Effect.NOW, reverted=True))
        else:
            after = edit(now if coming is None else coming) or None
            self.changes.append(Change(key, now, after, self._effect(key)))

    def remove(self, key: str) -> None:
        """Have it gone after the next start."""
        now, coming = self.actual.keys.get(key), self.actual.coming.get(key)
        if key in self.actual.pending:
            # Or it would come all the same, as measured.
            self.changes.append(Change(key, coming, now, Effect.NOW, reverted=True))
        elif coming is None:
            self._wait(key, now, coming)
            return
        if now is not None:
            self.changes.append(Change(key, now, None, self.at_start))

    def _wait(self, key: str, now: str | None, coming: str | None) -> None:
        if not same(key, now, coming):
            self.waiting.append(Change(key, now, coming, self.at_start))

    def _effect(self, key: str) -> Effect:
        stem = stem_of(key)
        if self.at_start is Effect.NOW or stem in _AT_ONCE:
            return Effect.NOW
        is_new = key not in self.actual.keys
        plugs = stem == "mp" or (stem == "dev" and self.version.plugs_devices)
        return Effect.PLUGGED if stem in _IN_PLACE or (is_new and plugs) else Effect.RESTART
