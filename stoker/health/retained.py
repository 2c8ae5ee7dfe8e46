"""GPU memory that nobody uses: above its baseline, and its holder is absent or cannot end."""

from __future__ import annotations

from dataclasses import dataclass

from stoker.health.seen import Gpu, Holder, Seen

# A task in state D may be on its way; these are not.
_STUCK = {"unkillable", "zombie-leader", "exiting"}
_CUDA = "nvidia-uvm"


@dataclass(frozen=True)
class Retained:
    """Such memory of one GPU."""

    uuid: str
    mib: int
    """Above the baseline."""
    pids: tuple[int, ...]
    """Of its stuck holders; empty: it has no holder at all."""


def retained(seen: Seen) -> tuple[Retained, ...]:
    """Of all GPUs whose memory is known, by PCI address."""
    found = []
    for gpu in seen.gpus:
        if not gpu.over_baseline:
            continue
        users = [holder for holder in holders_of(seen, gpu) if not watches_only(holder)]
        stuck = tuple(holder.pid for holder in users if holder.stuck.kind in _STUCK)
        if stuck or not users:
            found.append(Retained(gpu.uuid, (gpu.used_mib or 0) - gpu.baseline_mib, stuck))
    return tuple(found)


def holders_of(seen: Seen, gpu: Gpu) -> list[Holder]:
    """Who holds it or, with only a control node open, may hold it."""
    return [holder for holder in seen.holders if gpu.uuid and gpu.uuid in seen.may_hold(holder)]


def watches_only(holder: Holder) -> bool:
    """Whether it is a service of the host that only looks: persistenced, an exporter.

    CUDA does not start without nvidia-uvm, so such a one has no memory of its own.
    """
    return holder.owner.kind == "host" and _CUDA not in holder.devices and not holder.stuck.kind
