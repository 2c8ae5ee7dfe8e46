"""What stands before the program's own words: the prefixes of SGLang, torch, NCCL and LXC.

Every quantifier is bounded: a line may hold anything.
"""

from __future__ import annotations

import re

from stoker.health.crash import clock
from stoker.health.crash.line import Line

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


def said(line: Line) -> None:
    """Takes off rank, time, level and voice."""
    for end in _BAR_ENDS:  # a progress bar, and a message in the same line after it
        # SGLang's own message is none, and may quote one.
        at = -1 if line.text.startswith("[20") else line.text.rfind(end)
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
            clock.read(line, found)
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
