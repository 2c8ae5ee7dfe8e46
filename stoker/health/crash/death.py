"""The half of a death that systemd and the node know; either may be missing."""

from __future__ import annotations

from dataclasses import dataclass

from stoker.health.kernel_log import Message


@dataclass(frozen=True)
class Death:
    """How the main process of a unit ended, as systemd has it."""

    unit: str
    result: str
    """`$SERVICE_RESULT`: exit-code, signal, core-dump, oom-kill, timeout, watchdog, protocol,
    start-limit-hit, resources, success; empty: not known."""
    code: str
    """`$EXIT_CODE`: exited, killed, dumped; empty: it never ran."""
    status: str
    """`$EXIT_STATUS`: a number or the name of a signal without SIG; empty: it never ran."""
    started: float | None
    """Seconds since 1970."""
    ended: float | None
    """Seconds since 1970; None: it runs."""
    restarts: int = 0
    """systemd's own restarts since somebody started it (NRestarts)."""
    oom_kills: int | None = None
    """Processes that the OOM killer ended in the container between this death and the one before;
    None: not readable, or there is no count of then."""
    asked: bool | None = None
    """Whether somebody had systemd stop it; None: not known."""


@dataclass(frozen=True)
class HostSide:
    """What the node saw of a container in the time of one death."""

    node: str
    vmid: int
    since: float
    """Where the look at the kernel's log began, seconds since 1970."""
    kernel: tuple[Message, ...]
    """Its messages since then that are about memory, the GPUs or blocked tasks, oldest first."""
    kernel_complete: bool = True
    """Whether the log reaches back to `since`."""
    oom_kills: int | None = None
    """Processes that the OOM killer ended in the container since it started; None: not readable."""
    memory_limit_bytes: int | None = None
    """Of the container; None: none, or not readable."""
    bdfs: tuple[str, ...] = ()
    """PCI addresses of its GPUs, as the kernel's log writes them; empty: not known."""
    pids: dict[int, int] | None = None
    """On the node -> in the container, of its processes that live now; None: not looked at."""
    driver: str = ""
    """What the driver itself says is wrong now, by nvidia-smi; empty: nothing, or not asked."""
    unseen: tuple[str, ...] = ()
    """What could not be looked at, each with its reason."""
