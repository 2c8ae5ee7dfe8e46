"""One look at a node as metrics. What is not known has no sample, never a zero."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stoker.health import exposition, recovery_actions
from stoker.health.exposition import Family, Sample
from stoker.health.retained import Retained, retained
from stoker.health.seen import Driver, Gpu, Seen

MIB = 1024 * 1024
UNKNOWN_ACTION = -1


def text(seen: Seen, stuck: tuple[Retained, ...] | None = None) -> str:
    """All metrics, the same look giving the same bytes.

    `stuck` where the caller has already worked it out.
    """
    kept = retained(seen) if stuck is None else stuck
    families = [*_memory(seen, kept), *_gpus(seen), *_node(seen), *_scan(seen)]
    return exposition.text(families)


def _memory(seen: Seen, stuck: tuple[Retained, ...]) -> Iterator[Family]:
    known = [gpu for gpu in seen.gpus if gpu.used_mib is not None]
    kept = {one.uuid: one.mib for one in stuck}
    yield Family(
        "stoker_gpu_memory_total_bytes",
        "Memory of the GPU.",
        tuple(Sample(g.total_mib * MIB, _gpu(g)) for g in seen.gpus if g.total_mib is not None),
    )
    yield Family(
        "stoker_gpu_memory_used_bytes",
        "Memory in use, without what the driver reserves.",
        tuple(Sample((gpu.used_mib or 0) * MIB, _gpu(gpu)) for gpu in known),
    )
    yield Family(
        "stoker_gpu_memory_baseline_bytes",
        "What may be in use with no holder.",
        tuple(Sample(gpu.baseline_mib * MIB, _gpu(gpu)) for gpu in seen.gpus),
    )
    yield Family(
        "stoker_gpu_stuck_bytes",
        "Memory above the baseline that has no holder, or one that cannot end.",
        tuple(Sample(kept.get(gpu.uuid, 0) * MIB, _gpu(gpu)) for gpu in known),
    )


def _gpus(seen: Seen) -> Iterator[Family]:
    yield Family(
        "stoker_gpu_recovery_action",
        "What the driver asks for: 0 nothing, 1 reset, 2 reboot, 3 drain peers, 4 drain and "
        "reset, -1 another word.",
        tuple(
            Sample(_action(gpu.recovery_action), _gpu(gpu))
            for gpu in seen.gpus
            if gpu.recovery_action is not None
        ),
    )
    yield Family(
        "stoker_gpu_lost",
        "1 if the GPU is off the bus or its driver reports an error instead of values.",
        tuple(Sample(int(gpu.off_bus or bool(gpu.error)), _gpu(gpu)) for gpu in seen.gpus),
    )
    counted = Counter((xid.bdf, xid.number) for xid in seen.xids)
    yield Family(
        "stoker_gpu_xids_total",
        "Xids in the kernel's log since boot.",
        tuple(
            Sample(count, (("bdf", bdf), ("xid", str(number))))
            for (bdf, number), count in counted.items()
        ),
        kind="counter",
    )


def _node(seen: Seen) -> Iterator[Family]:
    owners = Counter((holder.owner.vmid, holder.owner.kind) for holder in seen.holders)
    yield Family(
        "stoker_gpu_holders",
        "Processes that hold a GPU or a control node, by container.",
        tuple(
            Sample(count, (("vmid", "" if vmid is None else str(vmid)), ("kind", kind)))
            for (vmid, kind), count in owners.items()
        ),
    )
    yield Family(
        "stoker_gpu_stuck_holders",
        "Those of them that wait in the kernel or cannot end.",
        (Sample(sum(bool(holder.stuck.kind) for holder in seen.holders)),),
    )
    yield Family(
        "stoker_container_problems",
        "Problems of a container's passthrough.",
        tuple(
            Sample(len(container.problems), (("vmid", str(container.vmid)),))
            for container in seen.containers
            if container.gpus or container.problems
        ),
    )
    yield Family(
        "stoker_driver_info",
        "1; versions of the loaded module and of the one on disk, and how nvidia-smi answered.",
        (Sample(1, _driver(seen.driver)),),
    )


def _scan(seen: Seen) -> Iterator[Family]:
    scan = seen.completeness
    yield Family(
        "stoker_scan_complete",
        "1 if every process could be looked at.",
        (Sample(int(scan.complete)),),
    )
    yield Family(
        "stoker_scan_seconds",
        "How long the scan of processes took.",
        (Sample(scan.seconds),),
    )
    yield Family(
        "stoker_scan_timestamp_seconds",
        "When the node was looked at, since 1970.",
        (Sample(seen.time),),
    )


def _gpu(gpu: Gpu) -> tuple[tuple[str, str], ...]:
    return (("uuid", gpu.uuid), ("bdf", gpu.bdf))


def _driver(driver: Driver) -> tuple[tuple[str, str], ...]:
    versions = (("version", driver.version), ("installed", driver.installed))
    return (*versions, ("smi", driver.smi.state))


def _action(word: str) -> int:
    number = recovery_actions.number(word)
    return UNKNOWN_ACTION if number is None else number
