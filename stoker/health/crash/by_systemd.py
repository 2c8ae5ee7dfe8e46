"""What systemd's half of a death makes of a log's verdict, by itself."""

from __future__ import annotations

import dataclasses

from stoker.health.crash import wording
from stoker.health.crash.death import Death
from stoker.health.crash.ending import STOPPED
from stoker.health.crash.verdict import HEALTHY, Verdict

UNKNOWN = ("silent_death", "restart_loop", "program_error")
"""Classes of a log that shows no cause, or none that a row knows."""
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
_SENT_BY_SYSTEMD = ("oom-kill", "timeout", "watchdog")
_SENT = "somebody sent it SIGTERM past systemd, which was not asked to stop it"
_SENT_ACTION = (
    "Find who sends SIGTERM to it (a script, a shell, `systemctl kill`); to stop it, "
    "use `systemctl stop {unit}`."
)
_NOT_READY = ("import", "dist_init", "load", "draft_load", "kv_pool", "hicache", "graph_capture")


def died_all_the_same(verdict: Verdict, death: Death | None) -> Verdict:
    """A log in which all is well, of a server that died nevertheless, has no cause."""
    if verdict.name != HEALTHY or death is None or death.ended is None:
        return verdict
    if death.asked is not False and (
        STOPPED in verdict.details or death.result not in _BAD_RESULTS
    ):
        return verdict
    sent = sent_past_systemd(verdict, death)
    return Verdict(
        name="silent_death",
        phase="decode" if verdict.phase == "serving" else verdict.phase,
        line=None,
        text="",
        cause=_SENT if sent else "the server ended without any error line",
        action=_SENT_ACTION.format(unit=death.unit)
        if sent
        else wording.action("silent_death", verdict.phase, "", None, ""),
        confidence="medium" if sent else "low",
        details=tuple(detail for detail in verdict.details if detail != STOPPED),
    )


def sent_past_systemd(verdict: Verdict, death: Death | None) -> bool:
    """Whether it ended by a SIGTERM that systemd neither was asked for nor sent by itself."""
    if death is None or death.asked is not False or STOPPED not in verdict.details:
        return False
    return death.result not in _SENT_BY_SYSTEMD


def by_systemd(log: Verdict, death: Death | None) -> Verdict:
    """The class that its result or status says, of a log that says none."""
    if death is None or log.name not in UNKNOWN:
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
