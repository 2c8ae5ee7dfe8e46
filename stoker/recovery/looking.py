"""One look at a node: what never enters the driver first, nvidia-smi last.

With nvidia-smi hanging, GPUs and their holders are named all the same. Nothing is written but the
learned baseline and where a nvidia-smi of ours is.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace
from typing import Mapping

from stoker.health import xids
from stoker.health.retained import holders_of, watches_only
from stoker.health.seen import Holder, Seen
from stoker.recovery import (
    baselines,
    cards,
    containers,
    driver,
    files,
    gpus,
    kernel_lines,
    nvidia_smi,
    scanning,
    targets,
)
from stoker.recovery.baselines import Learned
from stoker.recovery.machine import Machine
from stoker.recovery.nvidia_smi import Told


def look(machine: Machine, smi: bool = True, learn: bool = True) -> Seen:
    """Everything. Without `smi` nvidia-smi is not asked, without `learn` no baseline written."""
    slots = cards.found(machine)
    wanted = targets.of(machine, slots)
    holders, completeness = scanning.scan(machine, wanted)
    log = xids.parse(kernel_lines.read(machine))
    told = _asked(machine, smi)
    state = driver.seen(machine, told.outcome)
    learned = baselines.load(machine)
    found = gpus.joined(slots, told.gpus, told.lost, learned, state.version)
    node = containers.Against(slots, gpus.uuids(found), state.majors, state.version)
    seen = Seen(
        node=os.uname().nodename,
        boot_id=files.text(f"{machine.proc}/sys/kernel/random/boot_id").strip(),
        time=time.time(),
        driver=state,
        gpus=found,
        holders=tuple(_with_uuids(holder, node.uuids) for holder in holders),
        containers=containers.seen(machine, node),
        xids=tuple(log),
        completeness=completeness,
    )
    return _with_baselines(machine, seen, learned) if learn else seen


def _asked(machine: Machine, smi: bool) -> Told:
    if not smi:
        return nvidia_smi.skipped("not asked for")
    if not driver.version(machine):
        return nvidia_smi.skipped("no driver is loaded")
    return nvidia_smi.ask(machine)


def _with_uuids(holder: Holder, uuids: Mapping[int, str]) -> Holder:
    """With GPUs whose UUID only nvidia-smi could tell."""
    own = {uuids[minor] for minor in uuids if f"nvidia{minor}" in holder.devices}
    return replace(holder, gpus=tuple(sorted({*holder.gpus, *own})))


def _with_baselines(machine: Machine, seen: Seen, learned: Learned) -> Seen:
    """With what GPUs without a holder use now taken for their baseline, if all was seen."""
    free = {
        gpu.uuid: gpu.used_mib
        for gpu in seen.gpus
        if gpu.used_mib is not None and seen.completeness.complete and not gpu.error
        if all(watches_only(holder) for holder in holders_of(seen, gpu))
    }
    known = baselines.after(learned, seen.driver.version, free)
    if known == learned:
        return seen
    with contextlib.suppress(OSError):  # a full disk must not keep anyone from looking
        baselines.save(machine, known)
    limits = [baselines.limit_mib(known, gpu.uuid, seen.driver.version) for gpu in seen.gpus]
    return replace(
        seen,
        gpus=tuple(
            replace(gpu, baseline_mib=limit, baseline_learned=is_known)
            for gpu, (limit, is_known) in zip(seen.gpus, limits)
        ),
    )
