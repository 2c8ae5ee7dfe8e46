"""The verdict of a log, corrected by what systemd and the node know of the same death.

The kernel outranks what a program made of its doing; a line that says by itself what is wrong with
the command line, the model or the installation stays. An exit code alone proves nothing.
"""

from __future__ import annotations

import dataclasses

from stoker.health.crash import wording
from stoker.health.crash.beside import Seen, seen_by_kernel
from stoker.health.crash.circumstances import beside, circumstances, ended, looked_at, others
from stoker.health.crash.death import Death, HostSide
from stoker.health.crash.ending import STOPPED
from stoker.health.crash.verdict import HEALTHY, Verdict

_UNKNOWN = ("silent_death", "restart_loop", "program_error")
_OF_GPU = (*_UNKNOWN, "gpu_app_fault", "gpu_hardware", "nccl_hang", "nccl_system_error")
# Class of the kernel's line -> verdicts of a log that it replaces.
_OVER = {
    "gpu_lost": (*_OF_GPU, "device_missing", "start_timeout", "reboot_required", "gsp_timeout"),
    "reboot_required": (*_OF_GPU, "device_missing", "start_timeout", "gsp_timeout"),
    "gsp_timeout": (*_OF_GPU, "device_missing", "start_timeout"),
    "gpu_hardware": (*_OF_GPU,),
    "gpu_app_fault": (*_UNKNOWN, "gpu_app_fault", "nccl_hang"),
    "cgroup_oom": (*_UNKNOWN, "cgroup_oom", "start_timeout"),
    "driver_mismatch": (*_UNKNOWN, "driver_mismatch", "device_missing", "libcuda_missing"),
}
_BAD_RESULTS = (
    "exit-code",
    "signal",
    "core-dump",
    "oom-kill",
    "timeout",
    "watchdog",
    "protocol",
    "resources",
)
_NOT_READY = ("import", "dist_init", "load", "draft_load", "kv_pool", "hicache", "graph_capture")
_GIB = 1024**3
UNREAD = "not looked at: the log, or not to its end"
"""The detail of a verdict that was given without the log; its cause says why."""


def joined(verdict: Verdict, death: Death | None, host: HostSide | None) -> Verdict:
    """The verdict of the whole: kernel and systemd outrank the log where they say more."""
    log = _died_all_the_same(verdict, death)
    seen = seen_by_kernel(host, death) if host else ()
    if log.name == HEALTHY:
        return log
    for one in seen:
        if log.name in _OVER.get(one.name, ()):
            return _by_kernel(log, one, seen, death, host)
    said = _by_systemd(log, death)
    if said.name not in _UNKNOWN:
        return _with(said, (*beside(seen, None), *circumstances(death, host)))
    if said.name == "program_error" or (said.line is not None and said.name == "restart_loop"):
        return _with(said, looked_at(death, host, seen))
    return _without_cause(said, death, host, seen)


def _died_all_the_same(verdict: Verdict, death: Death | None) -> Verdict:
    """A log in which all is well, of a server that died nevertheless, has no cause."""
    if verdict.name != HEALTHY or death is None or STOPPED in verdict.details:
        return verdict
    if death.ended is None or death.result not in _BAD_RESULTS:
        return verdict
    return Verdict(
        name="silent_death",
        phase="decode" if verdict.phase == "serving" else verdict.phase,
        line=None,
        text="",
        cause="the server ended without any error line",
        action=wording.action("silent_death", verdict.phase, "", None, ""),
        confidence="low",
        details=verdict.details,
    )


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


def _by_systemd(log: Verdict, death: Death | None) -> Verdict:
    if death is None or log.name not in _UNKNOWN:
        return log
    if death.result == "oom-kill":
        return _renamed(
            log, "cgroup_oom", "systemd saw that the kernel's OOM killer ended a process of it"
        )
    if death.result == "timeout" and log.phase in _NOT_READY:
        return _renamed(
            log,
            "start_timeout",
            "systemd ended the start because it took longer than TimeoutStartSec",
        )
    if death.status in ("203", "EXEC") and death.code == "exited":
        return _renamed(log, "interpreter_unreachable", "systemd cannot run the unit's program")
    if death.status in ("7", "BUS") and death.code in ("killed", "dumped"):
        return _renamed(
            log,
            "sigbus_shm",
            "the server died of SIGBUS, as it does when /dev/shm is full",
        )
    return log


def _renamed(log: Verdict, name: str, cause: str) -> Verdict:
    return dataclasses.replace(
        log,
        name=name,
        cause=cause,
        action=wording.action(name, log.phase, "", None, ""),
        confidence="medium",
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
    return dataclasses.replace(log, cause=wording.shown(cause), details=(*looked, *last))


def _with(log: Verdict, details: tuple[str, ...]) -> Verdict:
    new = tuple(detail for detail in details if detail not in log.details)
    return dataclasses.replace(log, details=(*log.details, *new))
