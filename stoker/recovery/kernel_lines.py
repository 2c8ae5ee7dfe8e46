"""The kernel's log since this boot, as `journalctl -k -o short-unix -b` prints it."""

from __future__ import annotations

import os
import re

from stoker.recovery import asking, files
from stoker.recovery.machine import Machine

LIMIT_S = 20.0
_JOURNAL = ("journalctl", "--quiet", "--no-pager", "-k", "-b", "-o", "short-unix")
_RING = ("dmesg",)
_RELEVANT = re.compile(rb"NVRM|nvidia|blocked |soft lockup|^\s")
_STAMP = re.compile(r"^\[ *(\d+\.\d+)\] (.*)$")


def read(machine: Machine) -> list[str]:
    """The lines that may matter; none if neither journal nor ring buffer can be read."""
    if machine.stand_in:
        return files.text(machine.of_driver("/kernel.log")).splitlines()
    journal = asking.ask(_JOURNAL, LIMIT_S, keep=_matters)
    if journal.code == 0 and journal.out:
        return journal.out.splitlines()
    ring = asking.ask(_RING, LIMIT_S, keep=_matters)
    return [dated(line, boot_time(machine)) for line in ring.out.splitlines()]


def dated(line: str, booted: float) -> str:
    """A line of dmesg as the journal would print it; one without a stamp as it is."""
    stamp = _STAMP.match(line)
    if not stamp:
        return line
    return f"{booted + float(stamp[1]):.6f} {os.uname().nodename} kernel: {stamp[2]}"


def _matters(line: bytes) -> bool:
    """A month's log has millions of lines; those of the driver, and second lines, are kept."""
    return bool(_RELEVANT.search(line))


def boot_time(machine: Machine) -> float:
    """When the kernel started, seconds since 1970; 0 if it does not say."""
    told = re.search(r"^btime (\d+)$", files.text(f"{machine.proc}/stat"), re.MULTILINE)
    return float(told[1]) if told else 0.0
