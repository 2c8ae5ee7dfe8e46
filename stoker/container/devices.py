"""The device nodes that pass GPUs into a container."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """A GPU of a node that its driver has."""

    uuid: str
    bdf: str
    """PCI address as sysfs writes it, lower case: `0000:01:00.0`."""
    minor: int
    """N of /dev/nvidiaN: of this boot, so it is never what an inventory names."""


@dataclass(frozen=True)
class Device:
    """One `devN` as it should be."""

    path: str
    mode: int = 0o666
    gid: int | None = None
    """In the container; None: root's."""
