"""What is put into a container before its first start, as an operator would by hand.

The user half of the driver, from NVIDIA's .run installer in a real one; and the tiny model, or a
neighbour's server. The
container is stopped and fresh from its template, so nothing in it redirects a path written here.
"""

import os
import shutil
from pathlib import Path

from stoker.sandbox import commands, gpu, guest, libcuda, standins, tenant, tiny_model
from stoker.sandbox.files import replace_link
from stoker.sandbox.state import Container, State

MODEL = "models/sandbox-tiny"
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_LOADER_CACHES = ("etc/ld.so.cache", "var/cache/ldconfig", "var/cache/ldconfig/aux-cache")
# On this machine, an unprivileged container's root is this user.
_SHIFTED_ROOT = 100000


def placed(state: State, container: Container) -> None:
    """Driver and model are in the container, owned by its root."""
    root = guest.root(state, container)
    written = tenant.placed(root) if container in state.neighbours else _model(root)
    if state.gpus:
        written += _driver(root)
    commands.run(["ldconfig", "-r", root])
    for path in (*written, *(root / name for name in _LOADER_CACHES)):
        if os.path.lexists(path):
            os.chown(path, _SHIFTED_ROOT, _SHIFTED_ROOT, follow_symlinks=False)


def _model(root: Path) -> list[Path]:
    tiny_model.write(root / MODEL)
    return [root / "models", root / MODEL, *(root / MODEL).iterdir()]


def _driver(root: Path) -> list[Path]:
    library = libcuda.built(gpu.DRIVER_VERSION)
    libraries = root / _LIBRARIES
    shutil.copyfile(library, libraries / library.name)
    links = {libraries / "libcuda.so.1": library.name, libraries / "libcuda.so": "libcuda.so.1"}
    for link, target in links.items():
        replace_link(link, target)
    return [libraries / library.name, *links, standins.place_nvidia_smi(root)]
