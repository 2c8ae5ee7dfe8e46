"""What a switch keeps, so that it can be undone without the run that began it."""

import base64
import io
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from stoker.serving import layout
from stoker.serving.rendering import File, own_files
from stoker.serving.unit import Unit


@dataclass(frozen=True)
class Journal:
    """One switch: the files that come, and of which units the state before is put back."""

    units: tuple[str, ...]
    """All that it touches; none, where files are mended under servers that run on."""
    ran: tuple[str, ...] = ()
    """Those of them that ran before."""
    files: tuple[File, ...] = ()
    links: tuple[str, ...] = ()
    """Units that will start at boot."""
    unlinked: tuple[str, ...] = ()
    """Units that will not any more."""
    stages: tuple[str, ...] = ()
    """Staging units that were not there before."""
    copies: tuple[str, ...] = ()
    """Places in memory that nobody filled before."""

    @property
    def paths(self) -> tuple[PurePosixPath, ...]:
        """Everything it changes on disk: each is replaced, or removed if nothing comes there."""
        links = (layout.ENABLED / unit for unit in (*self.links, *self.unlinked))
        return (*(file.path for file in self.files), *links)

    @property
    def packed(self) -> str:
        """All of it as `inside/switch.sh` takes it: a tar in base64."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name in ("units", "ran", "stages", "copies", "paths"):
                lines = "".join(f"{line}\n" for line in getattr(self, name))
                _add(tar, name, lines, 0o600)
            for file in self.files:
                _add(tar, f"new{file.path}", file.text, file.mode)
            for unit in self.links:
                _link(tar, f"new{layout.ENABLED / unit}", str(layout.unit_file(unit)))
        return base64.encodebytes(packed.getvalue()).decode()


def journal_of(
    comes: Iterable[Unit],
    goes: Iterable[str],
    alive: Iterable[str],
    stages: Mapping[str, str],
) -> Journal:
    """Of a step. `alive`: units that run now; `stages`: staging units on disk and their places."""
    comes, goes = tuple(comes), tuple(goes)
    names = (*(unit.name for unit in comes), *goes)
    wanted = {unit.stage.name: unit.stage.destination for unit in comes if unit.stage}
    return Journal(
        units=names,
        ran=tuple(name for name in names if name in set(alive)),
        files=own_files(comes),
        links=tuple(unit.name for unit in comes),
        unlinked=goes,
        stages=tuple(name for name in wanted if name not in stages),
        copies=tuple(dict.fromkeys(p for p in wanted.values() if p not in stages.values())),
    )


def mending(units: Iterable[Unit]) -> Journal:
    """Of files that are written anew under servers that run on."""
    units = tuple(units)
    return Journal((), files=own_files(units), links=tuple(unit.name for unit in units))


def _add(tar: tarfile.TarFile, name: str, text: str, mode: int) -> None:
    data = text.encode()
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), mode
    tar.addfile(member, io.BytesIO(data))


def _link(tar: tarfile.TarFile, name: str, target: str) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    tar.addfile(member)
