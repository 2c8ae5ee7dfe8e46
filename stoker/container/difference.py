"""What is to be done so that a container becomes what it should be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from stoker.container import mounts, network, passed, plain, property_string
from stoker.container.configuration import Configuration
from stoker.container.devices import Device
from stoker.container.normal import same, stem_of
from stoker.container.property_string import Edit
from stoker.container.version import Version
from stoker.container.wanted import Wanted
from stoker.refused import Refused


class Effect(Enum):
    """When a change reaches a container, in an operator's words."""

    NOW = "at once"
    PLUGGED = "plugged in while it runs"
    RESTART = "at the next start"


_AT_ONCE = {"cores", "description", "hostname", "onboot", "protection", "startup", "tags"}
_HOTPLUGGED = {"memory", "swap", "net"}


@dataclass(frozen=True)
class Change:
    """One key."""

    key: str
    before: str | None
    """What holds, or what was to come (`reverted`); None: the key is not there."""
    after: str | None
    """None: the key goes."""
    effect: Effect
    reverted: bool = False
    """Somebody's change that waits for the next start is taken back; that is all."""


@dataclass(frozen=True)
class Difference:
    """Between what is wanted and what is. First `reverts`, in a call of its own (a key that is both
    changed and deleted keeps the changed value, as measured), then `options` with `deletes`, then
    `growths`."""

    changes: tuple[Change, ...] = ()
    told: tuple[str, ...] = ()
    """What differs and is not changed, a sentence each."""
    waiting: tuple[Change, ...] = ()
    """What is wanted and set already, and comes with the next start."""
    growths: tuple[tuple[str, str], ...] = ()
    """Volume (`rootfs`, `mp0`) and its new size, `64G`."""

    @property
    def options(self) -> dict[str, str]:
        """Key -> value to set."""
        return {c.key: c.after for c in self.changes if c.after is not None and not c.reverted}

    @property
    def deletes(self) -> tuple[str, ...]:
        """Keys to delete."""
        return tuple(c.key for c in self.changes if c.after is None and not c.reverted)

    @property
    def reverts(self) -> tuple[str, ...]:
        """Keys whose pending change is to be taken back before anything else."""
        return tuple(c.key for c in self.changes if c.reverted)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to set; a restart may still be due."""
        return not self.changes and not self.growths

    @property
    def needs_restart(self) -> bool:
        """Whether some of it, set now or before, comes only with a restart."""
        return any(c.effect is Effect.RESTART for c in (*self.changes, *self.waiting))


def between(
    wanted: Wanted,
    devices: Sequence[Device],
    actual: Configuration,
    version: Version,
    running: bool,
) -> Difference:
    """`devices`: the nodes that `wanted.gpus` come to on this node, without those that raw lxc
    lines pass and go on to pass. Raises `Refused` for what cannot be."""
    if devices and not version.has_devices:
        raise Refused(
            f"cannot pass GPUs: pve-container {version} has no devN; update the node "
            "(since 5.0.7, Proxmox VE 8.1)"
        )
    there = (actual.keys, actual.pending)
    edits: dict[str, Edit] = {
        **plain.edits(wanted),
        **network.edits(wanted.networks, there),
        **mounts.edits(wanted.mounts, there),
    }
    if wanted.gpus is not None:
        edits |= passed.edits(devices, there, wanted.says_device_rights)
    look = _Look(actual, version, running)
    changes: list[Change] = []
    waiting: list[Change] = []
    for key, edit in edits.items():
        change, is_set = look.settled(key, edit)
        if change:
            (waiting if is_set else changes).append(change)
    if wanted.gpus == () or (wanted.gpus and devices):
        changes += look.gone(devices)
    return Difference(
        changes=tuple(sorted(changes, key=lambda change: _order(change.key))),
        told=(*_told(wanted, actual), *look.foreign(edits)),
        waiting=tuple(sorted(waiting, key=lambda change: _order(change.key))),
        growths=tuple(growths(wanted, actual).items()),
    )


@dataclass(frozen=True)
class _Look:
    """What is there, for deciding on each key."""

    actual: Configuration
    version: Version
    running: bool

    def settled(self, key: str, edit: Edit) -> tuple[Change | None, bool]:
        """The change of a key, and whether it is set already and only waits."""
        now, coming = self.actual.keys.get(key), self.actual.coming.get(key)
        if same(key, coming, edit(coming)):
            waits = None if same(key, now, coming) else Change(key, now, coming, self._waits)
            return waits, True
        if now is not None and same(key, now, edit(now)):
            return Change(key, coming, now, Effect.NOW, reverted=True), False
        base = now if coming is None else coming
        return Change(key, now, edit(base) or None, self._effect(key)), False

    def gone(self, devices: Sequence[Device]) -> Iterator[Change]:
        """The devices that are not wanted any more."""
        pending = self.actual.pending
        for key in passed.stale(devices, pending):
            yield Change(key, pending[key], self.actual.keys.get(key), Effect.NOW, reverted=True)
        for key in passed.stale(devices, self.actual.keys):
            if key not in pending and key in self.actual.deletes:
                continue
            yield Change(key, self.actual.keys[key], None, self._waits)

    def foreign(self, edits: Mapping[str, Edit]) -> Iterator[str]:
        """What waits for the next start and is not ours."""
        for key in sorted({*self.actual.pending, *self.actual.deletes} - edits.keys(), key=_order):
            yield f"{key}: a change that is not of this run comes with the next start"

    @property
    def _waits(self) -> Effect:
        return Effect.RESTART if self.running else Effect.NOW

    def _effect(self, key: str) -> Effect:
        stem = stem_of(key)
        if not self.running or stem in _AT_ONCE:
            return Effect.NOW
        new = key not in self.actual.keys
        plugs = stem == "mp" or (stem == "dev" and self.version.plugs_devices)
        return Effect.PLUGGED if stem in _HOTPLUGGED or (new and plugs) else Effect.RESTART


def growths(wanted: Wanted, actual: Configuration) -> dict[str, str]:
    """Volume -> its new size, of those that are smaller than said."""
    found = mounts.growths(wanted.mounts, (actual.keys,))
    size = property_string.bytes_of(_rootfs(actual).get("size", ""))
    if wanted.rootfs_gib and size is not None and size < wanted.rootfs_gib * mounts.GIB:
        found = {"rootfs": f"{wanted.rootfs_gib}G", **found}
    return found


def growth(wanted: Wanted, actual: Configuration) -> str | None:
    """The root file system's new size, `64G`; None: it is large enough."""
    return growths(wanted, actual).get("rootfs")


def _rootfs(actual: Configuration) -> dict[str, str]:
    return property_string.parse("rootfs", actual.keys.get("rootfs", ""))


def _told(wanted: Wanted, actual: Configuration) -> Iterator[str]:
    rootfs = _rootfs(actual)
    storage = rootfs.get("volume", "").partition(":")[0]
    size = property_string.bytes_of(rootfs.get("size", "")) or 0
    is_unprivileged = property_string.truth(actual.keys.get("unprivileged"))
    if wanted.unprivileged is not None and wanted.unprivileged != is_unprivileged:
        yield (
            f"unprivileged: is {is_unprivileged}, not {wanted.unprivileged}; this is settled when "
            "a container is made: restore a backup of it the other way"
        )
    if wanted.storage and storage and wanted.storage != storage:
        elsewhere = f"the root file system is on {storage}, not {wanted.storage}"
        yield f"storage: {elsewhere}; move it yourself"
    if wanted.rootfs_gib and size > wanted.rootfs_gib * mounts.GIB:
        yield (
            f"rootfs_gib: the root file system has {rootfs['size']}, more than "
            f"{wanted.rootfs_gib}; it never shrinks"
        )
    yield from mounts.told(wanted.mounts, (actual.keys, actual.pending))


def _order(key: str) -> tuple[str, int]:
    stem = stem_of(key)
    return stem, int(key[len(stem) :] or 0)
