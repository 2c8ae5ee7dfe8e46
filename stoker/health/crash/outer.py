"""What stands before anybody's line: the prefix of a shipper, a runtime, journald or the kernel.

They nest. Every quantifier is bounded: a line may hold anything.
"""

from __future__ import annotations

import json
import re

from stoker.health.crash import clock
from stoker.health.crash.line import KERNEL, SYSTEMD, Line

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


def unpacked(text: str) -> str:
    """The line in a line of JSON; the same text where it is none."""
    found = _JSON_FILE.match(text)
    if not found:
        return text
    try:
        text = str(json.loads(f'"{found["text"]}"')).rstrip("\n")
        return text.encode("utf-8", "replace").decode()  # JSON can name half of a character
    except ValueError:
        return text


def shipped(line: Line) -> None:
    """Takes off what ships a container's log: compose's name, the runtime's time."""
    found = _COMPOSE.match(line.text)
    if found:
        line.ident = line.text[: found.end()].split(" ", 1)[0]
        line.text = line.text[found.end() :]
    found = _RUNTIME.match(line.text) if _SHIPPED.match(line.text) else None
    if found:
        line.text = found["text"]
        clock.read(line, found)


def spoken(line: Line) -> None:
    """Takes off who said it and when, as journald or a kernel log have it."""
    found = None if line.text[19:20] == "," else _JOURNAL.match(line.text)
    if found and (not found["since_boot"] or found["pid"] or found["ident"] in (KERNEL, SYSTEMD)):
        line.ident, line.pid = found["ident"], found["pid"] or ""
        clock.read(line, found)
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
        clock.read(line, found)
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
        clock.read(line, found)


def _told_by_driver(line: Line, talos: re.Match[str] | None) -> None:
    """A line of the kernel's behind a prefix that is neither journald's nor dmesg's."""
    found = talos or (None if line.text.startswith("[20") else _DRIVER.match(line.text))
    if found:
        line.origin, line.text = KERNEL, found["text"]
        clock.read(line, found)
