"""The driver's libraries in a container: where they lie, which ones the loader takes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from stoker.health.driver_folders import CURRENT, VERSION

HOME = str(PurePosixPath(CURRENT).parent)
"""Of ours in a container: a tree a version, `<version>/{lib,bin}`."""
CONF = "/etc/ld.so.conf.d/00-stoker-driver.conf"
"""It sorts first: of two libraries of one name the loader takes that of the directory that was
named first (measured with glibc 2.36; what has a directory of glibc-hwcaps comes before)."""
CONF_TEXT = f"{CURRENT}/lib\n"
NVIDIA_SMI = "/usr/local/bin/nvidia-smi"
_FILE = re.compile(rf"(lib[a-zA-Z0-9_+-]+)\.so\.({VERSION})")


@dataclass(frozen=True)
class Library:
    """One file of the driver's: libcuda or libnvidia-ml, which are never of two versions."""

    path: str
    package: str = ""
    """dpkg's that owns it; empty: none, as after NVIDIA's installer."""

    @property
    def name(self) -> str:
        """`libcuda`."""
        return PurePosixPath(self.path).name.partition(".so")[0]

    @property
    def version(self) -> str:
        """As its file's name ends; empty: in no version of a driver."""
        named = _FILE.fullmatch(PurePosixPath(self.path).name)
        return named[2] if named else ""

    def __str__(self) -> str:
        return f"{self.path} ({f'package {self.package}' if self.package else 'of no package'})"


@dataclass(frozen=True)
class Inside:
    """What a container has."""

    own: tuple[Library, ...] = ()
    """In the distribution's directories."""
    takes: Mapping[str, str] = field(default_factory=dict)
    """Library -> the file that the loader's cache names first, its links followed."""
    trees: tuple[str, ...] = ()
    """Versions of ours that are complete."""
    current: str = ""
    """The version that `CURRENT` is."""
    conf: bool = False
    """Whether the loader is told of ours."""

    @property
    def taken(self) -> dict[str, str]:
        """Library -> the version that a process gets that starts now."""
        return {name: Library(path).version for name, path in self.takes.items()}


@dataclass(frozen=True)
class Use:
    """A process of the container that has mapped a library of the driver."""

    pid: int
    unit: str
    """Empty: of no service."""
    path: str

    @property
    def tree(self) -> str:
        """The version of ours that it is from; empty: none of ours."""
        place = PurePosixPath(self.path)
        return place.relative_to(HOME).parts[0] if place.is_relative_to(HOME) else ""
