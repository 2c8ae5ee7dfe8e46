"""A node's wheel store against the locks: what is missing, and in which portions to fetch it."""

from collections.abc import Iterable, Mapping

from stoker.serving.lock import Lock, Wheel

PORTION_BYTES = 400_000_000
"""A portion is what an interruption can lose; small enough for that, large enough that pip's own
start (about 2 s) does not count."""

UNPACKED = 2.6
"""Bytes on disk for a byte of wheels: measured 2.3 (4.07 GB of 0.5.12 make 9.3 GB), and air."""


def missing(locks: Iterable[Lock], sizes: Mapping[str, int]) -> list[Wheel]:
    """Wheels of the locks that are not in the store with their size, each file once."""
    wanted = {wheel.file: wheel for lock in locks for wheel in lock.wheels}
    return [wheel for wheel in wanted.values() if sizes.get(wheel.file) != wheel.size_bytes]


def portions(wheels: Iterable[Wheel]) -> list[list[Wheel]]:
    """The wheels in portions of about `PORTION_BYTES`, the largest first."""
    found: list[list[Wheel]] = []
    room = 0
    for wheel in sorted(wheels, key=lambda wheel: (-wheel.size_bytes, wheel.file)):
        if wheel.size_bytes > room:
            found.append([])
            room = PORTION_BYTES
        found[-1].append(wheel)
        room -= wheel.size_bytes
    return found


def size_bytes(wheels: Iterable[Wheel]) -> int:
    """Sum of the wheels as they are stored."""
    return sum(wheel.size_bytes for wheel in wheels)


def platforms(wheels: Iterable[Wheel]) -> list[str]:
    """Every platform tag that these wheels carry, sorted."""
    return sorted({name for wheel in wheels for name in wheel.platforms})


def gb(size_bytes: float) -> str:
    """`4.07 GB`, decimal as disks are sold."""
    return f"{size_bytes / 1e9:.2f} GB"
