"""Why a rung is not taken, and what a human does instead."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Callable, Optional

from stoker.health.seen import Gpu, Holder
from stoker.health.situation import Situation, label

CLEAN, BAD, FOREIGN, POLICY, BUSY, INCOMPLETE, DRIVER, UNSERVED, REBOOT = (
    0,
    2,
    10,
    11,
    12,
    13,
    20,
    30,
    75,
)
PROGRAM = "python3 /var/lib/stoker/stoker.pyz recover"


@dataclass(frozen=True)
class Refusal:
    """One reason against a rung."""

    reason: str
    human: str
    """A command, or what to do in words."""
    code: int
    """The exit code if the run ends for it; 75: nothing short of a reboot is left of this rung."""


Refuses = Callable[[Situation], Optional[Refusal]]


def again(s: Situation, option: str) -> str:
    """The same call with one more option."""
    words = [word for word in given(s) if word not in option]
    return " ".join([PROGRAM, str(s.vmid), *words, option])


def given(s: Situation) -> list[str]:
    """The options of this call."""
    may = s.permitted
    flags = {
        "--serve": may.serve,
        "--stop-running": may.stop_running,
        "--allow-restart": may.restart,
        "--allow-gpu-reset": may.reset,
        "--reset-scope isolated": may.reset_beside,
        "--allow-driver-reload": may.reload,
        "--full": may.full,
        "--ha": may.ha,
    }
    services = [f"--allow-stop-service {name}" for name in may.stop_services]
    gpus = [f"--gpus {','.join(s.chosen)}"] if s.chosen else []
    return [*(word for word, on in flags.items() if on), *services, *gpus]


def named(holders: tuple[Holder, ...], most: int = 4) -> str:
    """Who they are: pid, command, owner, since when."""
    told = [
        f"process {h.pid} ({h.command or h.name}) of {h.owner} since {moment(h.since)}"
        for h in holders[:most]
    ]
    more = len(holders) - most
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")


def moment(seconds: float) -> str:
    """A time of day in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def labels(gpus: tuple[Gpu, ...]) -> str:
    """GPUs in a sentence."""
    return ", ".join(label(gpu) for gpu in gpus)


def reboot(s: Situation) -> str:
    """What a human does before a reboot, in one line."""
    running = [str(ct.vmid) for ct in s.seen.containers if ct.state == "running"]
    guests = f"containers running here: {', '.join(running) or 'none'}; VMs: qm list"
    return (
        f"have the BMC's console at hand, stop or migrate the guests ({guests}), then reboot "
        f"{s.seen.node}; a GPU that is missing afterwards needs a cold power cycle"
    )
