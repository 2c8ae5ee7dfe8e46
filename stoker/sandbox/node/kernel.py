"""Stand-in: the mount system calls that python's library lacks, on x86-64 and arm64 alike.

They make a mount without a path of the guest being followed on the node: opened beneath a root,
and moved in by file descriptor.
"""

from __future__ import annotations

import ctypes
import os

from .mapped import LIBC, check

OPEN_TREE, MOVE_MOUNT, OPENAT2, MOUNT_SETATTR = 428, 429, 437, 442
AT_FDCWD, AT_EMPTY_PATH, AT_RECURSIVE = -100, 0x1000, 0x8000
OPEN_TREE_CLONE, MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH = 1, 0x4, 0x40
RESOLVE_IN_ROOT = 0x10
MOUNT_ATTR_RDONLY = 1


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


class _MountAttr(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "ns")]


def open_in_root(root: str, path: str) -> int:
    """An O_PATH descriptor of `path`, every link resolved as if `root` were `/`."""
    directory = os.open(root, os.O_PATH | os.O_DIRECTORY)
    try:
        how = _OpenHow(os.O_PATH, 0, RESOLVE_IN_ROOT)
        size = ctypes.sizeof(how)
        words = [ctypes.c_long(OPENAT2), directory, path.encode(), ctypes.byref(how), size]
        return check(LIBC.syscall(*words), path)
    finally:
        os.close(directory)


def clone_tree(path: str, read_only: bool = False) -> int:
    """A detached copy of the mounts at a path of the node, as a descriptor."""
    flags = OPEN_TREE_CLONE | AT_RECURSIVE | os.O_CLOEXEC
    tree = check(LIBC.syscall(ctypes.c_long(OPEN_TREE), AT_FDCWD, path.encode(), flags), path)
    if read_only:
        attr = _MountAttr(attr_set=MOUNT_ATTR_RDONLY)
        flags, size = AT_EMPTY_PATH | AT_RECURSIVE, ctypes.sizeof(attr)
        words = [ctypes.c_long(MOUNT_SETATTR), tree, b"", flags, ctypes.byref(attr), size]
        check(LIBC.syscall(*words), f"read-only {path}")
    return tree


def attach_tree(tree: int, target: int) -> None:
    """Mount a detached tree on what the descriptor `target` names."""
    flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH
    check(LIBC.syscall(ctypes.c_long(MOVE_MOUNT), tree, b"", target, b"", flags), "move_mount")


def mount_tmpfs(target: str) -> None:
    """A small tmpfs at a directory of the node, fit for device nodes."""
    check(LIBC.mount(b"none", target.encode(), b"tmpfs", 0, b"mode=0755,size=64k"), target)
