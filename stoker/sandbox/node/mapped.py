"""Stand-in: the shifted ids of an unprivileged container, and work done inside its root."""

from __future__ import annotations

import ctypes
import os
import sys
import traceback
from typing import Callable, Mapping, NoReturn

SHIFT = 100000
COUNT = 65536
CLONE_NEWUSER = 0x10000000
CLONE_NEWNS = 0x00020000
LIBC = ctypes.CDLL(None, use_errno=True)


def shift_of(keys: Mapping[str, str]) -> int:
    """What is added to a container's ids on the node: 100000, or 0 where it is privileged."""
    return SHIFT if keys.get("unprivileged") == "1" else 0


def check(result: int, what: str) -> int:
    """A libc call's result; OSError with its errno where it failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def in_child(work: Callable[[], int]) -> int:
    """Run `work` in a forked process and give its exit code; an exception there is 1."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def in_root(root: str, shift: int, work: Callable[[], int]) -> int:
    """Run `work` as the container's root, chrooted: no link of the guest leads to the node."""

    def inside() -> int:
        os.chroot(root)
        os.chdir("/")
        become(shift)
        return work()

    return in_child(inside)


def become(uid: int) -> None:
    """Become this user and group, with no other groups."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def in_user_namespace(shift: int, work: Callable[[], int]) -> int:
    """Run `work` as root of a new user namespace with the container's map (shift 0: none)."""
    if not shift:
        return in_child(work)

    def inside() -> int:
        ready_in, ready_out = os.pipe()
        mapped_in, mapped_out = os.pipe()
        parent = os.getpid()
        # Who maps stays outside of the new namespace: only there the shifted ids exist.
        helper = os.fork()
        if helper == 0:
            _map_when_ready(parent, shift, ready_in, mapped_out)
        os.close(mapped_out)
        check(LIBC.unshare(CLONE_NEWUSER), "unshare")
        os.write(ready_out, b"r")
        if os.read(mapped_in, 1) != b"m":
            return 1
        become(0)
        return work()

    return in_child(inside)


def _map_when_ready(parent: int, shift: int, ready: int, done: int) -> NoReturn:
    code = 1
    try:
        os.read(ready, 1)
        for kind in ("uid_map", "gid_map"):
            with open(f"/proc/{parent}/{kind}", "w") as file:
                file.write(f"0 {shift} {COUNT}\n")
        os.write(done, b"m")
        code = 0
    finally:
        os._exit(code)
