"""A small file system that is frozen: who writes to it waits in state D and cannot be killed.

It is mounted on the node; the writer has its standard output there, as a server whose log went to
a disk that answers no more.
"""

import errno
import fcntl
import os
from pathlib import Path

from stoker.sandbox import commands, lxc_node
from stoker.sandbox.state import Node, State

DIRECTORY = "/run/stoker-frozen"
_DEVICE = "/dev/stoker-frozen"
_FITHAW = 0xC0045878  # linux/fs.h: _IOWR('X', 120, int)


def image(state: State, node: Node) -> Path:
    """The file that holds it, on this machine."""
    return lxc_node.data(state, node) / "frozen.img"


def mounted(state: State, node: Node) -> None:
    """The file system is there and takes writes."""
    path = image(state, node)
    path.touch()
    os.truncate(path, 16 << 20)
    commands.run(["mkfs.ext4", "-q", "-F", path])
    loop = commands.run(["losetup", "--find", "--show", path]).strip()
    number = Path(loop).stat().st_rdev
    script = f"""
    mkdir -p {DIRECTORY}
    rm -f {_DEVICE}
    mknod {_DEVICE} b {os.major(number)} {os.minor(number)}
    mount -t ext4 {_DEVICE} {DIRECTORY}
    """
    try:
        lxc_node.attach(state, node, ["sh", "-ec", script])
    finally:
        # From now on it goes with its last user.
        commands.attempt(["losetup", "--detach", loop])


def freeze(state: State, node: Node) -> None:
    """Every write waits from now on."""
    lxc_node.attach(state, node, ["fsfreeze", "--freeze", DIRECTORY])


def thaw(state: State, node: Node) -> None:
    """Writes go on. Found by the loop device, so it works although the node is half gone."""
    for loop in _loops(image(state, node)):
        number = Path("/dev", loop).stat().st_rdev
        for path in _on_device(number):
            if _thawed(path):
                break


def gone(state: State, node: Node) -> None:
    """It is unmounted, and its file is deleted."""
    script = f"umount {DIRECTORY} && rmdir {DIRECTORY}; rm -f {_DEVICE}"
    if lxc_node.running(state, node):
        lxc_node.attach(state, node, ["sh", "-c", script], check=False)
    for loop in _loops(image(state, node)):
        commands.attempt(["losetup", "--detach", f"/dev/{loop}"])
    image(state, node).unlink(missing_ok=True)


def _loops(path: Path) -> list[str]:
    """Names of the loop devices on that file."""
    if not path.exists():
        return []
    told = commands.attempt(["losetup", "--noheadings", "--output", "NAME", "--associated", path])
    return [Path(line.strip()).name for line in told.stdout.decode().splitlines() if line.strip()]


def _on_device(number: int) -> "list[str]":
    """Paths that lie on that file system: a node's mount point, files that processes have open."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        candidates = [f"{process}/root{DIRECTORY}"]
        try:
            candidates += [str(one) for one in (process / "fd").iterdir()]
        except OSError:
            continue
        found += [path for path in candidates if _device_of(path) == number]
    return found


def _device_of(path: str) -> int:
    try:
        return os.stat(path).st_dev  # noqa: PTH116 - a link of /proc must be followed as it is
    except OSError:
        return 0


def _thawed(path: str) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.ioctl(descriptor, _FITHAW, 0)
    except OSError as error:
        return error.errno == errno.EINVAL  # it was not frozen
    finally:
        os.close(descriptor)
    return True
