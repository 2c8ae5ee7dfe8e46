"""A lock: exactly the wheels of one SGLang version for one interpreter. Made by `locks/lock.py`."""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from stoker.refused import Refused

_LINE = re.compile(
    r"(?P<name>[a-z0-9-]+)==(?P<version>\S+) --hash=sha256:(?P<sha256>[0-9a-f]{64})"
    r"  # (?P<file>\S+\.whl) (?P<size>\d+)"
)


@dataclass(frozen=True)
class Wheel:
    """One wheel that a lock names."""

    name: str
    version: str
    sha256: str
    file: str
    size_bytes: int

    @property
    def requirement(self) -> str:
        """A line of a requirements file, hash included."""
        return f"{self.name}=={self.version} --hash=sha256:{self.sha256}"

    @property
    def platforms(self) -> frozenset[str]:
        """Platform tags of the file's name, `any` left out."""
        return frozenset(tag.platform for tag in parse_wheel_filename(self.file)[3]) - {"any"}


@dataclass(frozen=True)
class Lock:
    """All wheels of one SGLang version for the interpreter `tag`, `cp311`."""

    tag: str
    digest: str
    wheels: tuple[Wheel, ...]

    def version(self, name: str) -> str:
        """The locked version of a package; Refused when the lock does not have it."""
        for wheel in self.wheels:
            if wheel.name == name:
                return wheel.version
        raise Refused(f"cannot use the lock {self.tag}: it has no {name}; make it anew: make lock")

    @property
    def sglang(self) -> str:
        return self.version("sglang")

    @property
    def torch(self) -> str:
        return self.version("torch")

    @property
    def cuda(self) -> str:
        """What `torch.version.cuda` must be, `13.0`: torch pins the toolkit it was built with."""
        return ".".join(self.version("cuda-toolkit").split(".")[:2])

    @property
    def python(self) -> str:
        """The interpreter's version, `3.11`."""
        return f"{self.tag[2]}.{self.tag[3:]}"

    @property
    def size_bytes(self) -> int:
        """Sum of the wheels as they are stored."""
        return sum(wheel.size_bytes for wheel in self.wheels)

    @property
    def requirements(self) -> str:
        """The text of a requirements file, one line a wheel, hashes included."""
        return "".join(f"{wheel.requirement}\n" for wheel in self.wheels)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _wheel(line: str) -> Wheel | None:
    """None when the line is not of a lock's form."""
    found = _LINE.fullmatch(line)
    if not found:
        return None
    fields = found.groupdict()
    try:
        parse_wheel_filename(fields["file"])
    except InvalidWheelFilename:
        return None
    size = int(fields.pop("size"))
    return Wheel(**fields, size_bytes=size)


def parse(text: str, tag: str, path: str = "lock") -> Lock:
    """Read a lock's text. Refused with every line that is not of the lock's form."""
    lines = text.splitlines()
    wheels = {line: _wheel(line) for line in lines}
    wrong = [
        f"cannot read {path}: line {number} is not `name==version --hash=sha256:...  # file size`; "
        "make the lock anew: make lock"
        for number, line in enumerate(lines, 1)
        if wheels[line] is None
    ]
    if wrong or not lines:
        raise Refused(
            "\n".join(wrong) or f"cannot read {path}: it is empty; make it anew: make lock"
        )
    found = tuple(wheel for wheel in wheels.values() if wheel)
    lock = Lock(tag, _digest(f"{tag}\n{text}"), found)
    for name in ("sglang", "torch", "cuda-toolkit"):
        lock.version(name)
    return lock


@dataclass(frozen=True)
class Release:
    """The locks of one SGLang version, one an interpreter."""

    sglang: str
    locks: tuple[Lock, ...]

    def lock_for(self, python: str) -> Lock:
        """The lock for the interpreter `3.11`; Refused when there is none."""
        for lock in self.locks:
            if lock.python == python:
                return lock
        known = ", ".join(lock.python for lock in self.locks)
        raise Refused(
            f"cannot install SGLang {self.sglang} for Python {python}: there are locks for {known} "
            f"only; use a distribution with one of these, or add a target to locks/lock.py"
        )


@cache
def load(folder: Path, sglang: str) -> Release:
    """The locks of this SGLang version under `folder`; Refused when it has none."""
    paths = sorted((folder / f"sglang-{sglang}").glob("cp*.txt"))
    if not paths:
        known = ", ".join(sorted(p.name.removeprefix("sglang-") for p in folder.glob("sglang-*")))
        raise Refused(
            f"cannot install SGLang {sglang}: {folder}/sglang-{sglang} holds no lock; "
            f"there are locks for {known or 'no version'}"
        )
    locks = tuple(parse(path.read_text(), path.stem, str(path)) for path in paths)
    return Release(sglang, locks)
