"""A small Python for the stand-in nvidia-smi, taken out of the node image.

A real nvidia-smi is one binary and runs in a container that has no python3; so must the stand-in.
It is of no use to anything else: no directory of PATH names it, and it has no packages.
"""

import shutil
from pathlib import Path

from stoker.sandbox import places
from stoker.sandbox.files import remove_tree
from stoker.sandbox.image import alone

# The modules of nvidia-smi's own imports that Debian does not count to the minimal library.
_MORE = ("json",)
_LIBRARIES = ("libexpat.so.1", "libz.so.1")


def built(image: Path) -> Path:
    """The interpreter's directory in the cache, made from that node image if it is not there."""
    kept = places.CACHE / image.name.replace("node-", "python-")
    with alone("python"):
        if not kept.exists():
            unfinished = kept.with_name(f".{kept.name}")
            remove_tree(unfinished)
            _copy(image, unfinished)
            unfinished.rename(kept)
    return kept


def _copy(image: Path, target: Path) -> None:
    binary = (image / "usr/bin/python3").resolve().name
    (target / "bin").mkdir(parents=True)
    shutil.copy2(image / "usr/bin" / binary, target / "bin/python3")
    listed = image / f"var/lib/dpkg/info/lib{binary}-minimal:amd64.list"
    wanted = [Path(line) for line in listed.read_text().splitlines()]
    library = Path("/usr/lib", binary)
    modules = [path.relative_to("/usr") for path in wanted if path.is_relative_to(library)]
    found = (image / "usr/lib" / binary).glob
    modules += [path.relative_to(image / "usr") for name in _MORE for path in found(f"{name}/*.py")]
    for module in (module for module in modules if module.suffix == ".py"):
        (target / module).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(image / "usr" / module, target / module)
    (target / "lib" / binary / "lib-dynload").mkdir(exist_ok=True)
    for name in _LIBRARIES:
        real = next(path for path in image.glob(f"usr/lib/x86_64-linux-gnu/{name}*"))
        shutil.copy2(real.resolve(), target / "lib" / name)
