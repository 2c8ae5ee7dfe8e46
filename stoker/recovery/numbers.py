"""The number of a device behind an open file or a mapping, without a word to its file system.

Paths say nothing: a container's `/dev/nvidia0` is another file than the node's, or none. And a
plain stat of somebody's open file asks that file's system, so one dead FUSE or NFS mount would
hold up the scan for ever. statx can be told to answer from what the kernel knows.
"""

from __future__ import annotations

import ctypes
import os
import stat
from typing import Callable, Optional, Tuple

Number = Tuple[int, int]
"""Major and minor."""

_TYPE = 0x1
_DO_NOT_SYNC = 0x4000
_MODE_AT = 14  # of stx_mode, in units of 16 bits
_NUMBER_AT = 32  # of stx_rdev_major and stx_rdev_minor, in units of 32 bits


def _by_statx() -> Callable[[int, str], Optional[Number]]:
    # Tens of thousands of calls a scan: nothing is looked up, converted or kept but what it takes.
    statx, slowly = ctypes.PyDLL(None).statx, ctypes.CDLL(None, use_errno=True).statx
    words = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p)
    statx.argtypes = slowly.argtypes = words
    answer = ctypes.create_string_buffer(256)
    address = ctypes.addressof(answer)
    halves = memoryview(answer).cast("B").cast("H")
    quarters = memoryview(answer).cast("B").cast("I")
    is_device = stat.S_ISCHR

    def number(directory: int, name: str) -> Number | None:
        word = name.encode()
        if statx(directory, word, _DO_NOT_SYNC, _TYPE, address) and slowly(
            directory, word, _DO_NOT_SYNC, _TYPE, address
        ):
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error), name)
        if not is_device(halves[_MODE_AT]):
            return None
        return quarters[_NUMBER_AT], quarters[_NUMBER_AT + 1]

    return number


def _by_stat(directory: int, name: str) -> Number | None:
    found = os.stat(name, dir_fd=directory)
    if not stat.S_ISCHR(found.st_mode):
        return None
    return os.major(found.st_rdev), os.minor(found.st_rdev)


def _reader() -> Callable[[int, str], Optional[Number]]:
    try:
        return _by_statx()
    except (OSError, AttributeError):  # a C library before 2.28
        return _by_stat


of: Callable[[int, str], Optional[Number]] = _reader()
"""`of(directory, name)`: the number of the character device that `name`, a link in the open
`directory`, leads to; None for any other file. OSError as from stat."""
