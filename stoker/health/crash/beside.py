"""What the node's kernel said in the time of one death, about one container and its GPUs."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from stoker.health import bdf
from stoker.health.crash import rules, whose, wording
from stoker.health.crash.choosing import AUTHORITY
from stoker.health.crash.death import Death, HostSide
from stoker.health.crash.runs import Candidate
from stoker.health.kernel_log import Message

BEFORE_S, AFTER_S = 60.0, 120.0
"""So much earlier than the start, and later than the end, a line can still be of that death."""
_NEAR_S = 60.0
_FAULT = re.compile(
    r"(?:traps: )?(?P<task>.{1,64}?)\[(?P<pid>\d{1,10})\]:? "
    r"(?:segfault at |trap |general protection)"
)


@dataclass(frozen=True)
class Seen:
    """One line of the kernel's that may be the cause, or belongs to it."""

    name: str
    """The class; empty: only a circumstance."""
    cause: str
    text: str
    time: float
    sure: bool = True
    """Whether it is this container's beyond doubt."""


def seen_by_kernel(host: HostSide, death: Death | None) -> tuple[Seen, ...]:
    """Its lines of that time about this container, the highest authority first, then by time."""
    chosen = whose.chosen(host.kernel)
    found = []
    for line in host.kernel:
        if _in_time(line.time, death):
            found += [one for one in [_seen(line, host, death, chosen)] if one]
    return tuple(sorted(found, key=_order))


def _order(one: Seen) -> tuple[int, bool, bool, float]:
    return -AUTHORITY.get(one.name, 0), not one.name, not one.sure, one.time


def _seen(
    line: Message, host: HostSide, death: Death | None, chosen: dict[str, str]
) -> Seen | None:
    text = line.text.split("\n")[0] if "API mismatch" not in line.text else line.text
    text = " ".join(text.replace("\n", " ").replace("NVRM: this", "this").split())
    for rule, groups in rules.of_voice("kernel", text):
        gpu = groups.get("gpu")
        if gpu and host.bdfs and not _same(gpu, host.bdfs):
            return None
        one = Candidate(0, text, rule, groups, "", None, None, "", None, 0, "kernel")
        found = Seen(rule.name, wording.cause(one, ""), text, line.time, not gpu or bool(host.bdfs))
        if rule.name == "cgroup_oom":
            return _killed(found, groups, host, death, chosen)
        return _faulted(found, groups, host) if rule.name == "gpu_app_fault" else found
    fault = _FAULT.match(text)
    if fault:
        theirs = whose.faulted(fault["pid"], fault["task"], host) == whose.THEIRS
        return None if theirs else Seen("", "", text, line.time)
    if "IO_PAGE_FAULT" in text or "blocked for more than" in text:
        return Seen("", "", text, line.time)
    return None


def _killed(
    found: Seen,
    groups: dict[str, str],
    host: HostSide,
    death: Death | None,
    chosen: dict[str, str],
) -> Seen | None:
    """A kill of the OOM killer's, as far as it is known to be of this container and unit."""
    pid = groups.get("pid", "")
    of = whose.killed(pid, host, death, chosen)
    if of == whose.THEIRS:
        return None
    if of == whose.UNKNOWN:
        near = death and death.ended is not None and abs(death.ended - found.time) <= _NEAR_S
        when = "in that minute" if near else "while it ran"
        told = (
            f"the OOM killer ended {groups.get('task', 'a process')} on the node {when}; "
            "whether in this container is not known"
        )
        return replace(found, name="", cause=told, sure=False)
    service = whose.service(pid, chosen)
    if death and service not in ("", death.unit):
        told = f"the OOM killer ended {groups.get('task', 'a process')} of {service}"
        return replace(found, name="", cause=told)
    return replace(found, sure=of == whose.OURS)


def _faulted(found: Seen, groups: dict[str, str], host: HostSide) -> Seen:
    """A fault on a GPU of this container, as far as it is known to be of a process of it."""
    pid = groups.get("pid", "")
    of = whose.faulted(pid, groups.get("task", ""), host)
    if of == whose.THEIRS:
        return replace(found, name="", cause="", sure=False)
    if of == whose.OURS:
        number = whose.inside(pid, host)
        return replace(found, cause=f"{found.cause}, pid {number} in the container", sure=True)
    return replace(found, sure=False)


def _in_time(time: float, death: Death | None) -> bool:
    started = death.started if death else None
    ended = death.ended if death else None
    if started is not None and time < started - BEFORE_S:
        return False
    return ended is None or time <= ended + AFTER_S


def _same(gpu: str, known: tuple[str, ...]) -> bool:
    try:
        wanted = bdf.normal(gpu).rsplit(".", 1)[0]
        return any(bdf.normal(one).rsplit(".", 1)[0] == wanted for one in known)
    except ValueError:
        return False
