"""Where SGLang's source lies: a wheel, or a folder that holds the package (site-packages)."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

PACKAGE = "sglang/"
_METADATA = re.compile(r"^sglang-[^/]+\.dist-info/METADATA$")
_VERSION = re.compile(r"^Version: *(\S+)", re.MULTILINE)


class Wheel:
    """A wheel file, read in place."""

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path)
        self._names = set(self._zip.namelist())

    def read(self, name: str) -> Optional[bytes]:
        """The bytes of one file; None: there is none."""
        return self._zip.read(name) if name in self._names else None

    def names(self) -> Iterator[str]:
        """Every file of the package, and its METADATA."""
        for name in sorted(self._names):
            if name.startswith(PACKAGE) or _METADATA.match(name):
                yield name


class Tree:
    """A folder with `sglang/` in it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, name: str) -> Optional[bytes]:
        """The bytes of one file; None: there is none."""
        path = self._path / name
        return path.read_bytes() if path.is_file() else None

    def names(self) -> Iterator[str]:
        """Every file of the package, and its METADATA."""
        for path in sorted(self._path.glob("sglang/**/*")):
            yield path.relative_to(self._path).as_posix()
        for path in self._path.glob("sglang-*.dist-info/METADATA"):
            yield path.relative_to(self._path).as_posix()


class NoSglang(Exception):
    """There is no SGLang at the place that was given."""


def opened(path: Path) -> Wheel | Tree:
    """The source at `path`: a `.whl` file or a folder."""
    return Wheel(path) if path.suffix == ".whl" else Tree(path)


def version(source: Wheel | Tree) -> str:
    """As its METADATA says; the newest if an upgrade left two."""
    for name in reversed([name for name in source.names() if _METADATA.match(name)]):
        found = _VERSION.search((source.read(name) or b"").decode("utf-8", "replace"))
        if found:
            return found.group(1)
    raise NoSglang("no sglang-*.dist-info/METADATA")
