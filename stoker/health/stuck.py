"""Why a process might not die of SIGKILL, from what the kernel tells of its threads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Sequence

from stoker.health.seen import Stuck

KERNEL_THREAD = 0x00200000
EXITING = 0x00000004
_SIGKILL = 1 << 8  # bit 8 of a mask is signal 9

_FRAME = re.compile(r"^\[<[^>]*>\][ \t]*([^\s+]+)(?:\+\S+)?(?:[ \t]+\[([^\]]+)\])?", re.MULTILINE)
_MODULES = (("nvidia", "nvidia"), ("fuse", "fuse"), ("nfs", "nfs"), ("sunrpc", "nfs"))
_FUNCTIONS = (
    ("nvidia", re.compile(r"nvidia_|uvm_|os_acquire_rwlock|_nv\d{6}")),
    ("fuse", re.compile(r"fuse_|__fuse_|request_wait_answer")),
    ("nfs", re.compile(r"nfs\d?_|rpc_wait_bit_killable|__rpc_")),
    ("frozen-fs", re.compile(r"percpu_rwsem_wait|__?percpu_down_read|sb_start_|__sb_start_")),
    ("pidns", re.compile(r"zap_pid_ns_processes")),
)


@dataclass(frozen=True)
class Thread:
    """One thread of a process."""

    state: str
    """The kernel's letter."""
    flags: int = 0
    pending: int = 0
    """Signals that wait for it, its own and the process's, as a mask."""
    wchan: str = ""
    """The kernel function it sleeps in; empty or `0`: none or not told."""
    stack: str = ""
    """Its /proc/.../stack; empty if it could not be read."""


def classify(leader_state: str, threads: Sequence[Thread], has_files: bool = True) -> Stuck:
    """How stuck the process with these threads is; ended ones may be among them.

    `has_files` tells whether any thread still has open files: without, a thread on its way out is
    in the release of what it had open.
    """
    live = [thread for thread in threads if thread.state not in "ZX"]
    for kind, found in (
        ("unkillable", [thread for thread in live if thread.state == "D" and _killed(thread)]),
        ("exiting", [] if has_files else [thread for thread in live if thread.flags & EXITING]),
        ("zombie-leader", live if leader_state in ("Z", "X") else []),
        ("waiting", [thread for thread in live if thread.state == "D"]),
    ):
        if found:
            return Stuck(kind, *_where(found))
    return Stuck("", "", "")


def in_driver(stack: str) -> bool:
    """Whether a stack has a function of an nvidia module."""
    return any(module.startswith("nvidia") for _, module in frames(stack))


def frames(stack: str) -> list[tuple[str, str]]:
    """Function and module of every line, innermost first; the module of the kernel is empty."""
    return [(function, module) for function, module in _FRAME.findall(stack)]


def _killed(thread: Thread) -> bool:
    return bool(thread.pending & _SIGKILL)


def _where(threads: Sequence[Thread]) -> tuple[str, str]:
    """Place and function of the first thread that waits uninterruptibly, or on its way out."""
    for thread in threads:
        if thread.state == "D" or thread.flags & EXITING:
            called = frames(thread.stack) or [(thread.wchan, "")]
            function = "" if called[0][0] == "0" else called[0][0]
            return _place(called), function
    return "", ""


def _place(called: Sequence[tuple[str, str]]) -> str:
    for prefix, place in _MODULES:
        if any(module.startswith(prefix) for _, module in called):
            return place
    for place, pattern in _FUNCTIONS:
        if any(pattern.match(function) for function, _ in called):
            return place
    return "other"
