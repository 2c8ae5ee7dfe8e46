"""The kernel's log, as `journalctl -k -o short-unix -b` prints it: other boots are not in it.

Anything may stand in it. A line is taken only if the kernel's own words begin it, since a process
can put its name, fifteen bytes of its choice, into the middle of others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Message:
    """One message of the kernel."""

    time: float
    """Seconds since 1970; no time zone is in it."""
    text: str
    """Without the prefix; its further lines after newlines."""


@dataclass(frozen=True)
class ApiMismatch:
    """A program whose driver library is of another version than the module."""

    time: float
    pid: int | None
    """On the node; None: older drivers do not say."""
    process: str
    """Empty: older drivers do not say."""
    client: str
    """Version of its library."""
    module: str
    """Version of the loaded module."""


@dataclass(frozen=True)
class Blocked:
    """A task that the kernel found waiting, or a processor that it found stuck, for long."""

    time: float
    pid: int
    task: str
    seconds: int
    lockup: bool
    """A processor that never came back, rather than a task that sleeps."""


LONGEST = 4096  # a kernel message is shorter than 1,100 bytes
_PREFIX = re.compile(r"(?P<time>\d{1,12}(?:\.\d{1,9})?) (?:\S{1,255} )?kernel: (?P<text>.*)")
_CLIENT = re.compile(r"the client '(?P<name>.{0,64}?)' \(pid (?P<pid>\d{1,10})\)")
_VERSIONS = re.compile(
    r"has the version (?P<client>[\d.]{1,20}), but this kernel module has the version "
    r"(?P<module>\d[\d.]{0,20}?)\.?(?: |$)"
)
_BLOCKED = re.compile(
    r"INFO: task (?P<task>.{0,64}?):(?P<pid>\d{1,10}) (?:is )?blocked (?:in I/O wait )?"
    r"for more than (?P<seconds>\d{1,9}) seconds"
)
_LOCKUP = re.compile(
    r"(?:watchdog: )?BUG: soft lockup - CPU#\d{1,5} stuck for (?P<seconds>\d{1,9})s! "
    r"\[(?P<task>.{0,64}?):(?P<pid>\d{1,10})\]"
)


def messages(lines: Iterable[str]) -> Iterator[Message]:
    """The kernel's messages; a line that belongs to none is left out."""
    time = 0.0
    texts: list[str] = []
    for line in lines:
        line = line.rstrip("\r\n")[:LONGEST]
        found = _PREFIX.match(line)
        if found:
            if texts:
                yield Message(time, "\n".join(texts))
            time, texts = float(found["time"]), [found["text"]]
        elif texts and line.startswith(" ") and len(texts) < 16:
            texts.append(line.strip())  # journalctl indents the further lines of a message
        elif texts:
            yield Message(time, "\n".join(texts))
            texts = []
    if texts:
        yield Message(time, "\n".join(texts))


def api_mismatches(lines: Iterable[str]) -> list[ApiMismatch]:
    """Every client that the driver turned away for its version, oldest first."""
    found: list[ApiMismatch] = []
    parts: list[str] = []
    started = 0.0
    for message in messages(lines):
        if message.text.startswith("NVRM: API mismatch:"):
            started, parts = message.time, [message.text]
        elif parts and message.text.startswith("NVRM: "):
            parts.append(message.text)  # dmesg's way: each line a message
        else:
            continue
        mismatch = _mismatch(started, parts)
        if mismatch:
            found.append(mismatch)
        if mismatch or len(parts) > 4:
            parts = []
    return found


def blocked(lines: Iterable[str]) -> list[Blocked]:
    """Every task that the kernel said is blocked, and every soft lockup, oldest first."""
    found = []
    for message in messages(lines):
        for pattern in (_BLOCKED, _LOCKUP):
            match = pattern.match(message.text)
            if match:
                pid, seconds = int(match["pid"]), int(match["seconds"])
                lockup = pattern is _LOCKUP
                found.append(Blocked(message.time, pid, match["task"], seconds, lockup))
    return found


def _mismatch(time: float, parts: list[str]) -> ApiMismatch | None:
    said = " ".join(part.replace("NVRM:", " ") for part in parts)
    text = " ".join(said.split())
    versions = _VERSIONS.search(text)
    if not versions:
        return None
    client = _CLIENT.search(text)
    return ApiMismatch(
        time=time,
        pid=int(client["pid"]) if client else None,
        process=client["name"] if client else "",
        client=versions["client"],
        module=versions["module"],
    )
