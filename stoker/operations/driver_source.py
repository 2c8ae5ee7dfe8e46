"""Where the driver's libraries come from, as the node has it in the end."""

import hashlib
from collections import defaultdict
from pathlib import Path
from typing import Any

from gevent.lock import BoundedSemaphore

from stoker.pct.files import put_words
from stoker.refused import Refused

UPLOADS = "/var/lib/stoker/driver"
"""Of the node; what was uploaded stays there for the next container."""
ONE_AT_A_TIME: defaultdict[str, BoundedSemaphore] = defaultdict(BoundedSemaphore)
"""Node -> held while a source is uploaded or unpacked there: gigabytes, for each container."""
_KIND = '[ ! -f "$1" ] || echo run; [ ! -d "$1" ] || echo packages'


def on_node(node: Any, source: str | None) -> tuple[str, str]:
    """Kind (`node`, `run` or `packages`) and path on the node; uploaded if it is only here.

    Raises `Refused` if it is nowhere.
    """
    if source is None:
        return "node", ""
    asked = node.run(["sh", "-c", _KIND, "sh", source]).require(f"look at {source} on the node")
    if kind := asked.stdout.decode().strip():
        return kind, source
    here = Path(source).expanduser()
    if here.is_file():
        return "run", _uploaded(node, [here])
    packages = sorted(here.glob("*.deb")) if here.is_dir() else []
    if packages:
        return "packages", str(Path(_uploaded(node, packages)).parent)
    raise Refused(
        f"cannot match the driver's libraries: their source {source} is no .run file and no "
        "directory of .deb packages, on the node or here; correct driver.source"
    )


def _uploaded(node: Any, files: list[Path]) -> str:
    """Path on the node of the last of these files, in a folder of their own."""
    sums = [_sha256(file) for file in files]
    folder = f"{UPLOADS}/{hashlib.sha256(''.join(sums).encode()).hexdigest()[:16]}"
    node.run(["install", "-d", "-m", "0700", "--", UPLOADS, folder]).require(f"make {folder}")
    for file in files:
        there = f"{folder}/{file.name}"
        # A file has its name when it is whole.
        if node.run(["test", "-e", there]).code:
            with file.open("rb") as stream:
                words = put_words(there, file.stat().st_size)
                node.run(words, stdin=stream).require(f"upload {file}")
    return f"{folder}/{files[-1].name}"


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
