"""The bench's own sandbox instance, up for one run."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from stoker.sandbox import state as instances
from stoker.sandbox.state import State


def _sandbox(*words: str) -> None:
    """The sandbox's command line, as root: it makes containers and a bridge."""

    subprocess.run([sys.executable, "-m", "stoker.sandbox", *words], check=True)


@contextmanager
def up(
    name: str, containers: int, keep: bool, gpus: int = 8, bare: bool = False
) -> Iterator[State]:
    """A node with so many containers, `bare` with a plan of them; gone afterwards unless it is to
    be kept."""
    size = ["--containers", str(containers), "--gpus", str(gpus), *(["--bare"] if bare else [])]
    _sandbox("up", "--name", name, *size)
    try:
        yield instances.load(name)
    finally:
        if not keep:
            _sandbox("down", "--name", name)
