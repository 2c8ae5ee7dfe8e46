"""What was looked at for one death, and what each part of it showed."""

from __future__ import annotations

from stoker.health.crash import wording
from stoker.health.crash.beside import Seen
from stoker.health.crash.death import Death, HostSide

_OF_A_CHECK = ("exit-code", "signal", "core-dump")


def others(host: HostSide | None) -> str:
    """Who else was asked, after a "neither the log nor"."""
    return "systemd nor the node" if host else "systemd (the node was not asked)"


def ended(death: Death) -> str:
    """How systemd saw it end, in words."""
    if death.code == "exited":
        return f"{death.unit} ended by itself with exit code {death.status}"
    if death.code in ("killed", "dumped"):
        return f"{death.unit} was ended by SIG{death.status.upper().replace('SIG', '')}"
    if checked(death):
        return f"a check before the start of {death.unit} failed, so that its server never ran"
    return f"{death.unit} ended ({death.result or 'nobody knows how'})"


def checked(death: Death) -> bool:
    """Whether what runs before the main process failed (`ExecStartPre=`), which then never ran."""
    return death.ended is not None and not death.code and death.result in _OF_A_CHECK


def looked_at(
    death: Death | None, host: HostSide | None, seen: tuple[Seen, ...]
) -> tuple[str, ...]:
    """Everything that was looked at, and what it showed."""
    told = ["looked at: the log"]
    if death is None:
        told.append("not looked at: how systemd saw it end")
    told += circumstances(death, host)
    if host is None:
        told.append("not looked at: the node's kernel log and the container's OOM counter")
        return tuple(told)
    whole = "" if host.kernel_complete else ", which does not reach back to the start"
    found = f"{len(host.kernel)} lines of interest" if host.kernel else "nothing of interest"
    told.append(f"looked at: the kernel log of {host.node}{whole}: {found}")
    if host.oom_kills is None:
        told.append("not looked at: the container's OOM counter")
    return (*told, *beside(seen, None))


def circumstances(death: Death | None, host: HostSide | None) -> tuple[str, ...]:
    """What systemd's half and the node's say of the end, cause or not."""
    told = []
    if death and death.ended is not None:
        told.append(
            f"systemd: result {death.result or 'unknown'}, {death.code or 'never ran'}"
            f" {death.status}".rstrip()
            + (f", restart {death.restarts}" if death.restarts else "")
        )
        if death.status in ("KILL", "9", "137"):
            told.append("SIGKILL alone is no proof of the OOM killer: 0.5.12 ends itself by it")
    if host:
        if host.oom_kills is not None:
            told.append(
                f"the OOM killer ended {host.oom_kills} processes of container {host.vmid} "
                "since it started"
            )
        if host.driver:
            told.append(wording.shown(f"the driver now says: {host.driver}"))
        told += [f"not looked at: {what}" for what in host.unseen]
    return tuple(told)


def beside(seen: tuple[Seen, ...], chosen: Seen | None) -> tuple[str, ...]:
    """What else the kernel said; `chosen` is told already."""
    return tuple(wording.shown(_said(one)) for one in seen if one is not chosen)[:4]


def _said(one: Seen) -> str:
    return one.cause if one.cause and not one.name else f"kernel: {one.text}"
