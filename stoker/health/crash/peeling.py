"""One raw line of a log: what it says, and the prefixes that say who said it and when.

Prefixes nest: journald's (short, iso, precise, full, unix, with unit), a container runtime's, the
kernel's, then SGLang's own. Every quantifier is bounded: a line may hold anything.
"""

from __future__ import annotations

import calendar
import functools
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

LONGEST = 16_384
"""Characters of a line that are looked at."""
PROGRAM, SYSTEMD, KERNEL = "program", "systemd", "kernel"
_MONTHS = {name: at for at, name in enumerate(calendar.month_abbr) if name}
_ANSI = re.compile(
    r"(?:\x1b|#033)\[[0-9;?]{0,24}[A-Za-z]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]"
)
_ZONE = r"(?: ?(?:Z|UTC|GMT|[A-Z]{3,5}|[+-]\d\d:?\d\d))?"
_JOURNAL = re.compile(
    r"(?:<\d{1,3}>)?(?:"
    r"(?P<month>[A-Z][a-z]{2}) {1,2}(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d)(?:\.\d{1,9})?"
    r"|(?:[A-Z][a-z]{2} )?(?P<date>\d{4}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?"
    + _ZONE
    + r"|(?P<unix>\d{9,11}(?:\.\d{1,9})?)"
    r"|(?P<since_boot>\[ {0,8}\d{1,9}\.\d{1,9}\])"
    r") (?:(?P<host>[\w.:-]{1,64}) )?(?P<ident>[^\s\[\]]{1,128})(?:\[(?P<pid>\d{1,10})\])?: ?"
    r"(?P<text>.*)",
    re.DOTALL,
)
_DMESG = re.compile(
    r"(?:<\d{1,3}>)?(?:\[ {0,8}\d{1,9}\.\d{1,9}\](?:\[ {0,6}[TC]\d{1,8}\])?"
    r"|\[[A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) {1,2}(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d)"
    r" (?P<year>\d{4})\]"
    r"|(?P<date>\d{4}-\d\d-\d\d)T(?P<time>\d\d:\d\d:\d\d),\d{1,9}[+-]\d\d:\d\d) (?P<text>.*)",
    re.DOTALL,
)
_RUNTIME = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)T(?P<time>\d\d:\d\d:\d\d)\.\d{1,9}(?:Z|[+-]\d\d:\d\d) "
    r"(?:std(?:out|err) [FP] )?(?P<text>.*)",
    re.DOTALL,
)
_SHIPPED = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(?:\d{7,9}(?:Z|[+-]\d\d:\d\d)|\d{1,6}Z) "
    r"(?!\S{1,64} (?:kernel|[^\s\[\]]{1,128}\[\d{1,10}\]): )"
)
"""A container runtime's time: journald prints microseconds at most, and no Z."""
_JSON_FILE = re.compile(r'\{"log":"(?P<text>(?:[^"\\]|\\.){0,16000})(?:"|$)')
"""A line of docker's log driver json-file."""
_TALOS = re.compile(
    r"(?:[\w.:-]{1,64}: )?kern: {1,8}\w{1,12}: "
    r"\[(?P<date>\d{4}-\d\d-\d\d)T(?P<time>\d\d:\d\d:\d\d)(?:\.\d{1,9})?Z\]: (?P<text>.*)",
    re.DOTALL,
)
_DRIVER = re.compile(r"[^'\"{}]{0,200}?(?P<text>NVRM: Xid \(PCI:.*)", re.DOTALL)
_COMPOSE = re.compile(r"[\w.-]{1,64} {1,40}\| ")
_SGLANG = re.compile(
    r"\[(?P<date>\d{4}-\d\d-\d\d) (?P<time>\d\d:\d\d:\d\d)(?:[.,]\d{1,6})?"
    r"(?P<ranks>(?: [A-Za-z]{2,16}\d{1,5}){0,6})\] "
)
_RANK = re.compile(r"\[rank(\d{1,5})\]: ?")
_GLOG = re.compile(
    r"\[[EWIF]\d{3,4} \d\d:\d\d:\d\d\.\d{1,9}(?: {1,2}\d{1,10})? [\w.]{1,64}:\d{1,6}\] "
)
_NCCL = re.compile(
    r"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] )?[\w.-]{1,64}:\d{1,10}:\d{1,10} \[(?P<gpu>\d{1,3})\] "
    r"(?:[\w./-]{1,96}:\d{1,6} )?NCCL (?P<level>WARN|INFO|ERROR) ?(?P<text>.*)",
    re.DOTALL,
)
_LXC = re.compile(
    r"lxc-\w{1,12}: [\w.-]{1,64}: (?:\.\./)?[\w/.-]{1,80}\.c: (?P<text>.*)", re.DOTALL
)
_LXC_LOG = re.compile(
    r"lxc-\w{1,12} [\w.-]{1,64} \d{14}\.\d{1,6} \w{1,10} {1,8}\w{1,32} - "
    r"[\w/.-]{1,80}:(?P<function>\w{1,64}):(?P<line>\d{1,6}) - (?P<text>.*)",
    re.DOTALL,
)
_LEVEL = re.compile(r"(?:INFO|ERROR|WARNING|CRITICAL): {1,8}|(?:ERROR|CRITICAL|WARNING) - ")
_BAR_ENDS = ("it/s]", "s/it]")


@dataclass
class Line:
    """A line without its prefixes."""

    number: int
    """In the log, from 1."""
    text: str
    origin: str = PROGRAM
    """Who said it: `program`, `systemd` or `kernel`."""
    ident: str = ""
    """Of journald: who printed it; empty in a bare log."""
    pid: str = ""
    rank: str = ""
    """As SGLang or torch names it: `TP3`, `DP0 TP1`, `rank0`; empty: none is named."""
    stamp: float | None = None
    """Seconds since the year began; None: no clock on it."""
    year: int | None = None
    dated: bool = False
    """SGLang's own prefix was on it: a message begins here."""
    voice: str = ""
    """`nccl`: NCCL's warning; `torch`: of its C++ half; empty: anything else."""
    gpu: str = ""
    """Of an NCCL line: the device it was printed for."""


def peel(number: int, raw: bytes, strip: Callable[[str], str] | None = None) -> Line:
    """What the line says; bytes that are no UTF-8 become U+FFFD.

    `strip` takes off what else this log has before each line; None: it has nothing.
    """
    text = raw[: LONGEST * 2].decode("utf-8", "replace")[:LONGEST]
    if text.startswith('{"log":"'):
        text = _unpacked(text)
    if "\x1b" in text or "#033[" in text:
        text = _ANSI.sub("", text)
    text = text.rstrip("\r")
    if "\r" in text:
        text = text[text.rindex("\r") + 1 :]
    line = Line(number, text)
    _shipped(line)
    _outer(line)
    if line.origin == PROGRAM:
        if strip:
            line.text = strip(line.text)
        _inner(line)
    return line


def _unpacked(text: str) -> str:
    """The line in a line of JSON; the same text where it is none."""
    found = _JSON_FILE.match(text)
    if not found:
        return text
    try:
        return str(json.loads(f'"{found["text"]}"')).rstrip("\n")
    except ValueError:
        return text


def _shipped(line: Line) -> None:
    """Takes off what ships a container's log: compose's name, the runtime's time."""
    found = _COMPOSE.match(line.text)
    if found:
        line.ident = line.text[: found.end()].split(" ", 1)[0]
        line.text = line.text[found.end() :]
    found = _RUNTIME.match(line.text) if _SHIPPED.match(line.text) else None
    if found:
        line.text = found["text"]
        _time(line, found)


def _outer(line: Line) -> None:
    found = None if line.text[19:20] == "," else _JOURNAL.match(line.text)
    if found and (not found["since_boot"] or found["pid"] or found["ident"] in (KERNEL, SYSTEMD)):
        line.ident, line.pid = found["ident"], found["pid"] or ""
        _time(line, found)
        line.text = found["text"]
        if line.ident == "kernel":
            line.origin = KERNEL
            nested = _DMESG.match(line.text)
            line.text = nested["text"] if nested else line.text
        elif line.ident in ("systemd", "init.scope"):
            line.origin = SYSTEMD
        return
    found = _DMESG.match(line.text)
    if found:
        line.origin, line.text = KERNEL, found["text"]
        _time(line, found)
        return
    if line.text.lstrip(" ").startswith("NVRM: "):
        line.origin, line.text = KERNEL, line.text.lstrip(" ")
        return
    found = _TALOS.match(line.text)
    if found or "NVRM: Xid (" in line.text:
        _told_by_driver(line, found)
        return
    found = _RUNTIME.match(line.text)
    if found:
        line.text = found["text"]
        _time(line, found)


def _told_by_driver(line: Line, talos: re.Match[str] | None) -> None:
    """A line of the kernel's behind a prefix that is neither journald's nor dmesg's."""
    found = talos or (None if line.text.startswith("[20") else _DRIVER.match(line.text))
    if found:
        line.origin, line.text = KERNEL, found["text"]
        _time(line, found)


def _inner(line: Line) -> None:
    for end in _BAR_ENDS:  # a progress bar, and a message in the same line after it
        at = line.text.rfind(end)
        if at >= 0 and line.text[at + 5 :].strip():
            line.text = line.text[at + 5 :]
    if line.text.startswith("lxc-"):
        found = _LXC.match(line.text)
        line.text = found["text"] if found else line.text
        found = _LXC_LOG.match(line.text)
        if found:
            line.text = f"{found['function']}: {found['line']} {found['text']}"
    if line.text.startswith("["):
        found = _SGLANG.match(line.text)
        if found:
            line.dated, line.rank = True, found["ranks"].strip()
            _time(line, found)
            line.text = line.text[found.end() :]
        found = _RANK.match(line.text)
        if found:
            line.rank, line.text = f"rank{found[1]}", line.text[found.end() :]
        found = _GLOG.match(line.text)
        if found:
            line.voice, line.text = "torch", line.text[found.end() :]
    if " NCCL " in line.text:
        found = _NCCL.match(line.text)
        if found:
            line.voice = "nccl" if found["level"] != "INFO" else "info"
            line.gpu, line.text = found["gpu"], found["text"].strip()
    found = _LEVEL.match(line.text)
    if found:
        line.text = line.text[found.end() :]


def _time(line: Line, found: re.Match[str]) -> None:
    named = found.groupdict()
    if named.get("unix"):
        moment = time.gmtime(float(named["unix"]))
        line.year = moment.tm_year
        line.stamp = float(named["unix"]) - calendar.timegm((moment.tm_year, 1, 1, 0, 0, 0))
    elif named.get("date"):
        year, month, day = (int(part) for part in named["date"].split("-"))
        line.year, line.stamp = year, _stamp(year, month, day, named["time"])
    elif named.get("month") in _MONTHS:
        said = named.get("year")
        year = int(said) if said else 2026  # no leap day is lost that a log without a year has
        month, day = _MONTHS[named["month"]], int(named["day"])
        line.year, line.stamp = (
            int(said) if said else None,
            _stamp(year, month, day, named["clock"]),
        )


def _stamp(year: int, month: int, day: int, clock: str) -> float | None:
    """Seconds since the year began; None: there is no such moment."""
    began = _day(year, month, day)
    if began is None:
        return None
    return began + int(clock[:2]) * 3600 + int(clock[3:5]) * 60 + int(clock[6:8])


@functools.lru_cache(maxsize=512)
def _day(year: int, month: int, day: int) -> float | None:
    if not (1 <= month <= 12 and 1 <= day <= 31 and year >= 1970):
        return None
    began = calendar.timegm((year, 1, 1, 0, 0, 0))
    return float(calendar.timegm((year, month, day, 0, 0, 0)) - began)


def epoch(stamp: float | None, year: int | None) -> float | None:
    """Seconds since 1970, as if the clock were UTC's; None: the time or the year is not known."""
    if stamp is None or year is None:
        return None
    return calendar.timegm((year, 1, 1, 0, 0, 0)) + stamp
