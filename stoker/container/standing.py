"""What differs and is not a key to set: volumes that grow, and what only a person may change."""

from collections.abc import Collection, Iterator

from stoker.container import mounts, property_string, slots
from stoker.container.configuration import Configuration
from stoker.container.wanted import Wanted


def growths(wanted: Wanted, actual: Configuration) -> dict[str, str]:
    """Volume -> its new size, of those that are smaller than said."""
    found = mounts.growths(wanted.mounts, (actual.keys,))
    size = property_string.bytes_of(_rootfs(actual).get("size", ""))
    if wanted.rootfs_gib and size is not None and size < wanted.rootfs_gib * mounts.GIB:
        return {"rootfs": f"{wanted.rootfs_gib}G", **found}
    return found


def told(wanted: Wanted, actual: Configuration) -> Iterator[str]:
    """A sentence for each difference that stays."""
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
        yield f"storage: {elsewhere}; move it with pct move-volume"
    if wanted.rootfs_gib and size > wanted.rootfs_gib * mounts.GIB:
        yield (
            f"rootfs_gib: the root file system has {rootfs['size']}, more than "
            f"{wanted.rootfs_gib}; a volume never shrinks"
        )
    yield from mounts.told(wanted.mounts, (actual.keys, actual.pending))


def foreign(actual: Configuration, ours: Collection[str]) -> Iterator[str]:
    """What the next start changes and nobody here asked for."""
    for key in sorted({*actual.pending, *actual.deletes}, key=slots.order):
        coming = actual.coming.get(key)
        if key in ours or actual.keys.get(key) == coming or _is_wheels(key, coming):
            continue
        value = "goes" if coming is None else f"becomes {coming}"
        yield f"{key}: {value} at the next start, which the inventory does not say"


def _is_wheels(key: str, value: str | None) -> bool:
    if slots.stem_of(key) != "mp" or value is None:
        return False
    return property_string.parse("mp", value).get("mp") == mounts.WHEELS


def _rootfs(actual: Configuration) -> dict[str, str]:
    return property_string.parse("rootfs", actual.keys.get("rootfs", ""))
