"""Make the locks of one or all SGLang versions anew: `python locks/lock.py [VERSION ...]`.

A lock names, for one interpreter, exactly the wheels to install: version, hash, file and size in
bytes. uv resolves; the addresses it found are left out, so a lock holds for any mirror.
"""

import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

LOCKS = Path(__file__).parent


@dataclass(frozen=True)
class Target:
    """An interpreter to lock for, CPython 3.`minor`, and its distribution's glibc, 2.`glibc`."""

    minor: int
    glibc: int

    @property
    def tag(self) -> str:
        return f"cp3{self.minor}"

    def tags(self) -> list[Tag]:
        """What this interpreter takes, best first."""
        old = {17: "manylinux2014_x86_64", 12: "manylinux2010_x86_64", 5: "manylinux1_x86_64"}
        platforms = [
            name
            for n in range(self.glibc, 4, -1)
            for name in (f"manylinux_2_{n}_x86_64", old.get(n))
            if name
        ]
        version = (3, self.minor)
        own = cpython_tags(version, platforms=platforms, abis=[self.tag])
        return [*own, *compatible_tags(version, self.tag, platforms)]


TARGETS = (
    Target(minor=11, glibc=36),  # Debian 12
    Target(minor=12, glibc=39),  # Ubuntu 24.04
    Target(minor=13, glibc=40),  # Debian 13 has 2.41; uv knows tags up to 2.40
)


def excluded_after(requirements: Path) -> str:
    """The day after which nothing is considered, from the file's `# exclude-newer:` line."""
    found = re.search(r"^# exclude-newer: (\d{4}-\d\d-\d\d)$", requirements.read_text(), re.M)
    if not found:
        sys.exit(f"cannot lock {requirements}: no `# exclude-newer: YYYY-MM-DD` line; add one")
    return found.group(1)


def resolve(requirements: Path, target: Target) -> list[dict[str, Any]]:
    """The packages that uv resolves, each with its wheels for that target."""
    words = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-config", "--no-header"]
    words += ["--only-binary=:all:"]
    words += ["--python-version", f"3.{target.minor}"]
    words += ["--python-platform", f"x86_64-manylinux_2_{target.glibc}"]
    words += ["--exclude-newer", excluded_after(requirements), "--format", "pylock.toml"]
    overrides = requirements.with_name(f"overrides-{target.tag}.txt")
    if overrides.exists():
        words += ["--override", str(overrides)]
    found = subprocess.run([*words, str(requirements)], stdout=subprocess.PIPE, text=True)
    if found.returncode:
        sys.exit(f"cannot lock {requirements} for {target.tag}: uv says why above; nothing written")
    packages: list[dict[str, Any]] = tomllib.loads(found.stdout)["packages"]
    return packages


def file_name(wheel: dict[str, Any]) -> str:
    return unquote(PurePosixPath(urlsplit(wheel["url"]).path).name)


def entry(package: dict[str, Any], tags: list[Tag]) -> str:
    """The line of one package in a lock: the wheel that installers would prefer."""
    rank = {tag: place for place, tag in enumerate(tags)}

    def place(wheel: dict[str, Any]) -> int:
        fits = parse_wheel_filename(file_name(wheel))[3]
        return min(rank.get(tag, len(rank)) for tag in fits)

    wheel = min(package["wheels"], key=place)
    file = file_name(wheel)
    pinned = f"{package['name']}=={package['version']}"
    return f"{pinned} --hash=sha256:{wheel['hashes']['sha256']}  # {file} {wheel['size']}\n"


def write_atomically(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def main() -> None:
    for folder in [LOCKS / f"sglang-{name}" for name in sys.argv[1:]] or LOCKS.glob("sglang-*"):
        for target in TARGETS:
            packages = resolve(folder / "requirements.in", target)
            lines = [entry(package, target.tags()) for package in packages]
            write_atomically(folder / f"{target.tag}.txt", "".join(lines))
            print(f"{folder.name}/{target.tag}.txt: {len(packages)} wheels")


if __name__ == "__main__":
    main()
