"""Whether two threads share their table of open files, as kcmp(2) tells.

Nearly all do, and then one look serves for hundreds. A thread may have left the common table, and
when the main thread has ended only the others still have one.
"""

from __future__ import annotations

import ctypes
import os

_CALL = {"x86_64": 312, "aarch64": 272}.get(os.uname().machine)
_FILES = 2


def same_files(one: int, other: int) -> bool | None:
    """Whether threads `one` and `other` have the same table; None if the kernel does not tell."""
    if _CALL is None:
        return None
    answer: int = _libc.syscall(_CALL, one, other, _FILES, 0, 0)
    return None if answer < 0 else answer == 0


_libc = ctypes.CDLL(None)
