"""Xids of the kernel log, and what each is taken to mean."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from stoker.health import bdf, kernel_log, recovery_actions, tables
from stoker.health.seen import Xid

RECOVERY_ACTION_CHANGED = 154
_XID = re.compile(
    r"NVRM: Xid \((?:PCI:)?(?P<bdf>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.[0-7])?"
    r"(?: GPU-I:\d{1,4})?(?: GPU-CI:\d{1,4})?\): (?P<number>\d{1,5})"
    r"(?:, pid=(?P<pid>'?<?[\w ]{1,32}>?'?))?(?:, name=(?P<name>[^,]{0,64}))?,? ?(?P<text>.*)"
)
_TO = re.compile(r"recovery action changed from 0x[0-9a-f]{1,8}.{0,80}? to 0x([0-9a-f]{1,8})", re.I)


@dataclass(frozen=True)
class Row:
    """What is known of one number."""

    number: int
    title: str
    nvidia: str
    """NVIDIA's immediate action, in its catalogue's word."""
    ceiling: str
    """How far the ladder may climb for it: `info` nothing, `app` a restart of the container (R4),
    `reset` a GPU reset (R5), `reboot` a human's reboot of the host (R7), `human` nothing."""
    note: str
    """Empty: nothing more to say."""


def parse(lines: Iterable[str]) -> list[Xid]:
    """The Xids among the lines of `journalctl -k -o short-unix -b`, oldest first."""
    wanted = (line for line in lines if "NVRM: Xid" in line)
    found = (_xid(message) for message in kernel_log.messages(wanted))
    return [xid for xid in found if xid]


def meaning(number: int) -> Row:
    """What is known of that Xid; an unknown one is for a human."""
    unknown = Row(number, "unknown Xid", "none named", "human", "not in our table; ask NVIDIA's")
    return _known().get(number, unknown)


def ceiling(xid: Xid) -> str:
    """How far the ladder may climb for this one: 154 says it by its number."""
    action = recovery_action(xid)
    return meaning(xid.number).ceiling if action is None else recovery_actions.ceiling(action)


def recovery_action(xid: Xid) -> int | None:
    """The action that a 154 changed to, as NVML numbers it; None: another Xid, or unreadable.

    Only the number counts: builds differ in their words for it.
    """
    changed = _TO.search(xid.text) if xid.number == RECOVERY_ACTION_CHANGED else None
    return int(changed[1], 16) if changed else None


def _xid(message: kernel_log.Message) -> Xid | None:
    found = _XID.match(message.text)
    if not found:
        return None
    pid = (found["pid"] or "").strip("'<> ")
    return Xid(
        time=message.time,
        bdf=bdf.normal(found["bdf"]),
        number=int(found["number"]),
        pid=int(pid) if pid.isdecimal() and pid.isascii() else None,
        process=found["name"] or "",
        text=found["text"],
    )


@functools.lru_cache(maxsize=None)
def _known() -> dict[int, Row]:
    keys = ("number", "title", "nvidia", "ceiling", "note")
    return {row["number"]: Row(*(row[key] for key in keys)) for row in tables.rows("xids")}
