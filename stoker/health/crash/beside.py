"""What the node's kernel said in the time of one death, about one container and its GPUs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stoker.health import bdf
from stoker.health.crash import rules, wording
from stoker.health.crash.choosing import AUTHORITY
from stoker.health.crash.death import Death, HostSide, KernelLine
from stoker.health.crash.runs import Candidate

BEFORE_S, AFTER_S = 60.0, 120.0
"""So much earlier than the start, and later than the end, a line can still be of that death."""
_MEMCG = re.compile(r"\b(?:oom|task)_memcg=(/[^,]{0,300})")
_PID = re.compile(r",pid=(\d{1,10})")
_LXC = re.compile(r"/lxc(?:\.payload)?[/.](\d{1,9})(?:/| |$)")


@dataclass(frozen=True)
class Seen:
    """One line of the kernel's that may be the cause, or belongs to it."""

    name: str
    """The class; empty: only a circumstance."""
    cause: str
    text: str
    time: float


def seen_by_kernel(host: HostSide, death: Death | None) -> tuple[Seen, ...]:
    """Its lines of that time about this container, the highest authority first, then by time."""
    victims = _victims(host.kernel)
    found = []
    for line in host.kernel:
        if _in_time(line.time, death):
            found += [one for one in [_seen(line, host, victims)] if one]
    return tuple(sorted(found, key=_order))


def _order(one: Seen) -> tuple[int, bool, float]:
    return -AUTHORITY.get(one.name, 0), not one.name, one.time


def _seen(line: KernelLine, host: HostSide, victims: dict[str, set[int]]) -> Seen | None:
    text = line.text.split("\n")[0] if "API mismatch" not in line.text else line.text
    text = " ".join(text.replace("\n", " ").replace("NVRM: this", "this").split())
    for rule, groups in rules.of_voice("kernel", text):
        gpu = groups.get("gpu")
        if gpu and host.bdfs and not _same(gpu, host.bdfs):
            return None
        if rule.name == "cgroup_oom" and not _ours(groups.get("pid", ""), host, victims):
            return None
        one = Candidate(0, text, rule, groups, "", None, None, "", None, 0, "kernel")
        return Seen(rule.name, wording.cause(one, ""), text, line.time)
    if "IO_PAGE_FAULT" in text or "blocked for more than" in text:
        return Seen("", "", text, line.time)
    return None


def _in_time(time: float, death: Death | None) -> bool:
    started = death.started if death else None
    ended = death.ended if death else None
    if started is not None and time < started - BEFORE_S:
        return False
    return ended is None or time <= ended + AFTER_S


def _victims(lines: tuple[KernelLine, ...]) -> dict[str, set[int]]:
    """PID that the OOM killer chose -> containers of it, or of the limit that was reached."""
    found: dict[str, set[int]] = {}
    for line in lines:
        pid = _PID.search(line.text) if line.text.startswith("oom-kill:") else None
        if pid:
            paths = " ".join(_MEMCG.findall(line.text))
            found[pid[1]] = {int(number) for number in _LXC.findall(paths)}
    return found


def _ours(pid: str, host: HostSide, victims: dict[str, set[int]]) -> bool:
    """Whether the process that was ended was of this container."""
    if victims.get(pid):
        return host.vmid in victims[pid]
    return bool(host.oom_kills)


def _same(gpu: str, known: tuple[str, ...]) -> bool:
    try:
        wanted = bdf.normal(gpu).rsplit(".", 1)[0]
        return any(bdf.normal(one).rsplit(".", 1)[0] == wanted for one in known)
    except ValueError:
        return False
