"""The node's half of a container's death, put together without changing anything."""

from __future__ import annotations

import os
from typing import Iterator

from stoker.health import kernel_kinds
from stoker.health.crash.death import HostSide
from stoker.health.seen import Smi
from stoker.recovery import (
    cards,
    cgroup,
    containers,
    driver,
    files,
    kernel_since,
    memory,
    nvidia_smi,
    pids,
    targets,
)
from stoker.recovery.in_time import Budget
from stoker.recovery.machine import Machine
from stoker.recovery.nvidia_smi import Told

LIMIT_S = 70.0
"""For all of it: whoever asks waits for 90 s, and ssh and Python take of that too."""
_QUIET = ("ok", "skipped")
_FIRMWARE_SILENT = ("xid119", "xid120")


def of(
    machine: Machine, vmid: int, since: float, smi: bool = True, limit_s: float = LIMIT_S
) -> HostSide:
    """What this node saw of that container since then, seconds since 1970.

    What did not answer in time is in `unseen`, and the rest is told.
    """
    budget = Budget(limit_s)
    log = kernel_since.read(machine, since, budget)
    bdfs = _bdfs(machine, vmid)
    told = _asked(machine, log, budget) if smi else nvidia_smi.skipped("not asked for")
    kills = memory.oom_kills(machine, vmid)
    return HostSide(
        node=os.uname().nodename,
        vmid=vmid,
        since=since,
        kernel=log.messages,
        kernel_complete=log.complete,
        oom_kills=kills,
        memory_limit_bytes=memory.limit_bytes(machine, vmid),
        bdfs=bdfs or (),
        pids=pids.inside(machine, vmid),
        driver=_complaint(told, bdfs or ()),
        unseen=tuple(_unseen(machine, vmid, log, bdfs, kills, told.outcome)),
    )


def _bdfs(machine: Machine, vmid: int) -> tuple[str, ...] | None:
    """PCI addresses of its GPUs; None: Proxmox's configuration does not say."""
    slots = cards.found(machine)
    by_minor = {card.minor: card.bdf for card in slots if card.minor is not None}
    majors = targets.majors(files.text(machine.of_driver("/proc/devices")))
    # Named by their addresses in place of their UUIDs.
    node = containers.Against(slots, by_minor, majors, version="")
    return next((ct.gpus for ct in containers.seen(machine, node) if ct.vmid == vmid), None)


def _asked(machine: Machine, log: kernel_since.Log, budget: Budget) -> Told:
    """Not beside a GPU whose firmware is silent: one more would hang there, and for good."""
    if any(kernel_kinds.kind(one.text) in _FIRMWARE_SILENT for one in log.messages):
        return nvidia_smi.skipped("a GPU's firmware gave no answer since (Xid 119 or 120)")
    if not driver.version(machine):
        return nvidia_smi.skipped("no driver is loaded")
    return nvidia_smi.ask(machine, budget)


def _complaint(told: Told, bdfs: tuple[str, ...]) -> str:
    """What nvidia-smi says is wrong, as a whole or with one of these GPUs."""
    said = [f"GPU {bdf}: {error}" for bdf, error in sorted(told.lost.items()) if bdf in bdfs]
    for gpu in told.gpus:
        wants = gpu.recovery_action if gpu.recovery_action not in (None, "None") else ""
        trouble = gpu.error or (f"wants {wants}" if wants else "")
        if trouble and gpu.bdf in bdfs and gpu.bdf not in told.lost:
            said.append(f"GPU {gpu.bdf}: {trouble}")
    smi = told.outcome
    if smi.state == "hung":
        said.insert(0, f"nvidia-smi gave no answer in {smi.seconds:.0f} s")
    elif smi.state not in _QUIET and not said:
        said.append(f"nvidia-smi: {smi.text or smi.state}")
    return "; ".join(said)[:600]


def _unseen(
    machine: Machine,
    vmid: int,
    log: kernel_since.Log,
    bdfs: tuple[str, ...] | None,
    kills: int | None,
    smi: Smi,
) -> Iterator[str]:
    if log.missing:
        yield log.missing
    if bdfs is None:
        yield f"the GPUs of CT {vmid}: Proxmox's configuration here has no such container"
    if kills is None:
        runs = cgroup.place(machine, vmid)
        why = "its cgroup has none" if runs else "it does not run, so its cgroup is gone"
        yield f"the OOM counter of CT {vmid}: {why}"
    if smi.state == "skipped":
        yield f"nvidia-smi: {smi.text}"
