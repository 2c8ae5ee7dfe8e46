"""The verdict of a log, corrected by what systemd and the node know of the same death.

The kernel outranks what a program made of its doing; a line that says by itself what is wrong with
the command line, the model or the installation stays. An exit code alone proves nothing.
"""

from __future__ import annotations

import dataclasses

from stoker.health.crash import wording
from stoker.health.crash.beside import Seen, seen_by_kernel
from stoker.health.crash.by_systemd import (
    UNKNOWN,
    by_systemd,
    died_all_the_same,
    sent_past_systemd,
)
from stoker.health.crash.circumstances import (
    beside,
    checked,
    circumstances,
    ended,
    looked_at,
    others,
)
from stoker.health.crash.death import Death, HostSide
from stoker.health.crash.verdict import HEALTHY, Verdict

_OF_GPU = (*UNKNOWN, "gpu_app_fault", "gpu_hardware", "nccl_hang", "nccl_system_error")
# Class of the kernel's line -> verdicts of a log that it replaces.
_OVER = {
    "gpu_lost": (*_OF_GPU, "device_missing", "start_timeout", "reboot_required", "gsp_timeout"),
    "reboot_required": (*_OF_GPU, "device_missing", "start_timeout", "gsp_timeout"),
    "gsp_timeout": (*_OF_GPU, "device_missing", "start_timeout"),
    "gpu_hardware": (*_OF_GPU,),
    "gpu_app_fault": (*UNKNOWN, "gpu_app_fault", "nccl_hang"),
    "cgroup_oom": (*UNKNOWN, "cgroup_oom", "start_timeout"),
    "driver_mismatch": (*UNKNOWN, "driver_mismatch", "device_missing", "libcuda_missing"),
}
_GIB = 1024**3
UNREAD = "not looked at: the log, or not to its end"
"""The detail of a verdict that was given without the log; its cause says why."""


def joined(verdict: Verdict, death: Death | None, host: HostSide | None) -> Verdict:
    """The verdict of the whole: kernel and systemd outrank the log where they say more."""
    log = died_all_the_same(verdict, death)
    seen = seen_by_kernel(host, death) if host else ()
    if log.name == HEALTHY:
        return log
    for one in seen:
        if log.name in _OVER.get(one.name, ()):
            return _by_kernel(log, one, seen, death, host)
    if log.name != verdict.name and sent_past_systemd(verdict, death):
        return _with(log, (*beside(seen, None), *circumstances(death, host)))
    said = by_systemd(log, death)
    if said.name not in UNKNOWN:
        return _with(said, (*beside(seen, None), *circumstances(death, host)))
    if said.name == "program_error" or (said.line is not None and said.name == "restart_loop"):
        return _with(said, looked_at(death, host, seen))
    return _without_cause(said, death, host, seen)


def _by_kernel(
    log: Verdict, one: Seen, seen: tuple[Seen, ...], death: Death | None, host: HostSide | None
) -> Verdict:
    phase = log.phase if log.phase not in ("unknown", "systemd") else "host"
    cause = one.cause
    if one.name == "cgroup_oom" and host and host.memory_limit_bytes:
        cause += f"; the container's limit is {host.memory_limit_bytes / _GIB:.0f} GiB"
    same = one.name == log.name and log.line is not None
    shown = () if same or log.line is None else (f"the log: line {log.line}: {log.text}",)
    return Verdict(
        name=one.name,
        phase=phase,
        line=log.line if same else None,
        text=log.text if same else wording.shown(one.text),
        cause=wording.shown(cause),
        action=wording.action(one.name, phase, "", None, ""),
        confidence="high" if one.sure or one.name == log.name else "medium",
        time=one.time,
        details=(*shown, *beside(seen, one), *circumstances(death, host)),
    )


def _without_cause(
    log: Verdict, death: Death | None, host: HostSide | None, seen: tuple[Seen, ...]
) -> Verdict:
    last = tuple(detail for detail in log.details if detail.startswith("last line"))
    unread = UNREAD in log.details
    cause, looked = log.cause, looked_at(death, host, seen)
    if death and death.ended is not None:
        shows = f"neither the log nor {others(host)} shows why"
        cause = f"{ended(death)}, and {log.cause if unread else shows}"
    if unread:
        looked = (UNREAD, *looked[1:])
    if death and checked(death):
        action = wording.action(log.name, "preflight", "", None, "")
        log = dataclasses.replace(log, phase="preflight", action=action)
    return dataclasses.replace(log, cause=wording.shown(cause), details=(*looked, *last))


def _with(log: Verdict, details: tuple[str, ...]) -> Verdict:
    new = tuple(detail for detail in details if detail not in log.details)
    return dataclasses.replace(log, details=(*log.details, *new))
