"""Building `holder.c` and putting it where a node and its containers see it."""

import hashlib
from pathlib import Path

from stoker.sandbox import commands, places, standins
from stoker.sandbox.files import write_atomically

SOURCE = Path(__file__).parent / "holder.c"
PROGRAM = f"{standins.SHARED}/holder"


def placed(shared: Path) -> None:
    """The program is in the directory that a node shares with its containers, as PROGRAM."""
    data = built().read_bytes()
    path = shared / "holder"
    if not path.exists() or path.read_bytes() != data:
        write_atomically(path, data, 0o755)


def built() -> Path:
    """The program in the cache, compiled if it is not there."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    kept = places.LIBRARIES / digest / "holder"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        made = kept.with_name(".holder")
        commands.run(["gcc", "-O1", "-static", "-pthread", "-o", made, SOURCE])
        made.rename(kept)
    return kept
