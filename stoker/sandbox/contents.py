"""What is put into a container before its first start, as an operator would by hand, and on a node.

The user half of the driver, from NVIDIA's .run installer in a real one; and the tiny model, or a
neighbour's server. The
container is stopped and fresh from its template, so nothing in it redirects a path written here.
"""

import os
from pathlib import Path

from stoker.sandbox import commands, driver_libraries, gpu, guest, standins, tenant, tiny_model
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
    libraries = driver_libraries.placed(root / _LIBRARIES, gpu.DRIVER_VERSION)
    return [*libraries, standins.place_nvidia_smi(root)]


def on_node(root: Path, gpus: int) -> None:
    """What a real node has: the model, and with GPUs the user half of its driver.

    Both belong to root there; a container sees them through a read-only bind mount.
    """
    model = root / MODEL
    if not model.exists():
        # Whole or not at all: what is cut off here is done again by the next `up`.
        unfinished = model.with_name(f".{model.name}")
        tiny_model.write(unfinished)
        unfinished.rename(model)
    if gpus and not (root / _LIBRARIES / driver_libraries.LAST).exists():
        driver_on_node(root, gpu.DRIVER_VERSION)


def driver_on_node(root: Path, version: str) -> None:
    """The user half of that driver version, and of no other, is on a node."""
    driver_libraries.placed(root / _LIBRARIES, version)
