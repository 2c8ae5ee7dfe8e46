"""The CUDA toolkit inside the venvs, as compilers expect it."""

from pathlib import Path

from pyinfra import host
from pyinfra.api import deploy

from stoker.operations import cuda as operations
from stoker.serving import selection

SITE = Path()


@deploy("CUDA")
def cuda() -> None:
    releases = selection.releases(SITE, host.data.flagsets)
    operations.linked(name="Complete the CUDA tree", releases=releases)
    operations.proved(name="Prove CUDA by compiling a kernel", releases=releases)
