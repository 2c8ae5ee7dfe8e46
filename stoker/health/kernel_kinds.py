"""Which messages of the kernel speak of a death: memory, GPUs, stuck tasks, faults, the bus.

Each pattern is anchored at the message's beginning, where only the kernel writes; but for the name
of a process or a device that it puts there itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stoker.health.kernel_log import Message

FIRST, LAST = 8, 16
"""How many messages of one kind are kept: a flood of one hides no other."""
MOST = 400
LONGEST = 700
"""Of one message, in characters."""

_MISMATCH = "NVRM: API mismatch:"
_DEVICE = r"(?:[\w-]{1,32} [0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]: |iommu \w{1,16}: )?"
_KINDS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("memory", r".{1,64}? invoked oom-killer: |oom-kill:constraint=|oom_reaper: "),
        ("memory", r"(?:Memory cgroup out of memory|Out of memory)[: ]"),
        ("memory", r"(?:memory|memory\+swap|swap): usage \d{1,20}kB, limit "),
        ("xid", r"NVRM: Xid \([^)]{1,64}\): (?P<number>\d{1,5})"),
        ("mismatch", _MISMATCH),
        ("driver", r"NVRM: (?!loading )"),
        ("driver", r"nvidia-(?:uvm|modeset|nvlink): .{0,80}?(?:[Ee]rror|fail|fatal)"),
        ("iommu", _DEVICE + r"(?:AMD-Vi|DMAR): .{0,80}?(?:IO_PAGE_FAULT|fault|timed out)"),
        ("blocked", r"INFO: task .{1,64}?:\d{1,10} (?:is )?blocked |(?:watchdog: )?BUG: soft lock"),
        ("fault", r"(?:traps: )?.{0,64}?\[\d{1,10}\]:? (?:segfault at |trap |general protection)"),
        ("bus", _DEVICE + r"(?:AER: .{0,24}?|PCIe Bus Error: severity=)Uncorrect"),
        (
            "bus",
            _DEVICE + r"(?:pciehp: Slot\(.{1,16}?\): (?:Link Down|Card not)|device recovery f)",
        ),
        ("corrected", _DEVICE + r"(?:AER: .{0,24}?|PCIe Bus Error: severity=)Correct"),
    )
)


def kind(text: str) -> str:
    """Of the message; empty: it says nothing about a death. Xids are of a kind by number."""
    for name, pattern in _KINDS:
        found = pattern.match(text)
        if found:
            return name + (found["number"] if name == "xid" else "")
    return ""


def chosen(messages: Iterable[Message]) -> tuple[list[Message], int]:
    """Those about a death in their order, and how many more of them were left out: of each kind
    the first and the last are kept."""
    of_kind: dict[str, list[tuple[int, Message]]] = {}
    left = 0
    for place, message in enumerate(_whole(messages)):
        name = kind(message.text)
        if name:
            those = of_kind.setdefault(name, [])
            text = _in_one_line(message.text) if name == "mismatch" else message.text
            those.append((place, Message(message.time, text[:LONGEST])))
            if len(those) > FIRST + LAST:
                del those[FIRST]
                left += 1
    placed = sorted(
        (one for those in of_kind.values() for one in those), key=lambda one: (one[1].time, one[0])
    )
    kept = [message for _, message in placed]
    if len(kept) > MOST:
        left += len(kept) - MOST
        kept = kept[: MOST // 2] + kept[-MOST // 2 :]
    return kept, left


def _whole(messages: Iterable[Message]) -> Iterator[Message]:
    """With an API mismatch in one piece: in a ring buffer each line of it is a message."""
    held: Message | None = None
    for message in messages:
        if held and _goes_on(held, message):
            held = Message(held.time, f"{held.text}\n{message.text}")
        elif message.text.startswith(_MISMATCH):
            if held:
                yield held
            held = message
        else:
            yield message
    if held:
        yield held


def _in_one_line(mismatch: str) -> str:
    return " ".join(["NVRM:", *mismatch.replace("NVRM:", " ").split()])


def _goes_on(held: Message, message: Message) -> bool:
    other = not message.text.startswith("NVRM: ") or message.text.startswith(
        ("NVRM: Xid", _MISMATCH)
    )
    return not other and held.text.count("\n") < 4 and message.time - held.time < 1
