"""What a node's pve-container can do, by its version."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Version:
    """Of the package pve-container, as `dpkg-query` tells it."""

    parts: tuple[int, ...]

    def __str__(self) -> str:
        return ".".join(map(str, self.parts)) or "(version not known)"

    @property
    def has_devices(self) -> bool:
        """Whether `devN` exists: since 5.0.7, of PVE 8.1 (its changelog)."""
        return self.parts >= (5, 0, 7)

    @property
    def plugs_devices(self) -> bool:
        """Whether a new `devN` reaches a running container: since 6.0.4, of PVE 9.0."""
        return self.parts >= (6, 0, 4)


def parse(text: str) -> Version:
    """`6.1.10`, `5.2.0~pve1`; what follows the numbers does not count."""
    numbers = []
    for part in text.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    return Version(tuple(numbers))
