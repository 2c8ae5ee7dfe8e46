"""What a human should know of one look at a node, one sentence each, the gravest first."""

from __future__ import annotations

from collections.abc import Iterator

from stoker.health import recovery_actions, xids
from stoker.health.retained import retained
from stoker.health.seen import Driver, Gpu, Seen, Xid
from stoker.health.wording import age, shown

_SMI = {
    "not-loaded": "the driver is not loaded; see `journalctl -k` for why, then `modprobe nvidia`",
    "mismatch": "library and module are of different versions; install the same version on both",
    "no-library": "the driver's library is not installed on the node; install the module's version",
    "no-devices": "the driver has no GPU; compare with `lspci -d 10de:`",
    "denied": "the driver lets nobody in; look at the modes of /dev/nvidia*",
    "lost": "a GPU cannot be reached; a reboot of the node, perhaps without power, brings it back",
    "hung": "it does not answer, so nobody should ask again; see the kernel's log",
    "missing": "it is not installed on the node; install the module's version of it",
    "garbled": "it ended in the middle of its answer; ask again",
    "unknown": "it failed; see what it said",
}
_CEILINGS = {
    "info": "nothing to do",
    "app": "the program ends; at most its container is restarted",
    "reset": "the GPU may need a reset",
    "reboot": "the node needs a reboot",
    "human": "for a human to judge",
}
MOST_XIDS = 20


def remarks(seen: Seen, now: float) -> tuple[str, ...]:
    """All of them; a sound node gives only whether its scan was complete."""
    return (
        *_driver(seen.driver),
        *(sentence for gpu in seen.gpus for sentence in _gpu(gpu)),
        *_memory(seen),
        *_containers(seen),
        *_xids(seen.xids, now),
        *_completeness(seen),
    )


def _driver(driver: Driver) -> Iterator[str]:
    smi = driver.smi
    if smi.state == "skipped":
        yield f"nvidia-smi was not asked: {shown(smi.text, 100)}"
    elif smi.state != "ok":
        said = f" ({shown(smi.text, 100)})" if smi.text else ""
        yield f"nvidia-smi: {_SMI.get(smi.state, smi.state)}{said}"
    if driver.version and driver.installed and driver.version != driver.installed:
        yield (
            f"driver: {driver.version} is loaded and {driver.installed} is installed; "
            "reboot the node or reload the modules"
        )


def _gpu(gpu: Gpu) -> Iterator[str]:
    if gpu.off_bus:
        yield f"{name(gpu)}: has fallen off the bus; the node needs a reboot, perhaps without power"
    elif gpu.error:
        yield f"{name(gpu)}: {shown(gpu.error, 100)}"
    if gpu.recovery_action not in (None, "None"):
        action = recovery_actions.number(gpu.recovery_action or "")
        meaning = recovery_actions.meaning(action)
        yield f"{name(gpu)}: the driver asks for {shown(gpu.recovery_action or '', 40)}: {meaning}"


def _memory(seen: Seen) -> Iterator[str]:
    for kept in retained(seen):
        gpu = seen.gpu(kept.uuid)
        if gpu is None:
            continue
        pids = ", ".join(map(str, kept.pids))
        who = f"held by {pids}, which cannot end" if pids else "and nobody holds it"
        yield f"{name(gpu)}: {kept.mib} MiB are used above its baseline, {who}"


def _containers(seen: Seen) -> Iterator[str]:
    for container in seen.containers:
        if container.gpus and container.state == "frozen":
            yield f"CT {container.vmid} is frozen; nothing enters it until it is thawed"
        for problem in container.problems:
            yield f"CT {container.vmid}: {shown(problem, 300)}"


def _xids(found: tuple[Xid, ...], now: float) -> Iterator[str]:
    """The last of each number on each GPU, the newest first."""
    last = {(xid.bdf, xid.number): xid for xid in found}
    newest = sorted(last.values(), key=lambda xid: (-xid.time, xid.bdf, xid.number))
    for xid in newest[:MOST_XIDS]:
        times = sum((other.bdf, other.number) == (xid.bdf, xid.number) for other in found)
        often = f", {times} times, the last" if times > 1 else ","
        who = f" (process {xid.pid} {shown(xid.process, 16)})" if xid.pid is not None else ""
        title, effect = xids.meaning(xid.number).title, _CEILINGS[xids.ceiling(xid)]
        when = f"{often} {age(now - xid.time)} ago"
        yield f"{xid.bdf}: Xid {xid.number}{when}: {title}{who}; {effect}"
    if len(newest) > MOST_XIDS:
        yield f"{len(newest) - MOST_XIDS} more kinds of Xid since boot; see `journalctl -k -b`"


def _completeness(seen: Seen) -> Iterator[str]:
    scan = seen.completeness
    for sentence in scan.unreadable[:10]:
        yield f"not seen: {shown(sentence, 200)}"
    if len(scan.unreadable) > 10:
        yield f"not seen: {len(scan.unreadable) - 10} more"
    if scan.maps_unknown:
        pids = ", ".join(map(str, scan.maps_unknown[:10]))
        more = ", ..." if len(scan.maps_unknown) > 10 else ""
        yield f"not seen: the mappings of {pids}{more}, which did not answer in time"
    how = "complete" if scan.complete else "INCOMPLETE: there may be holders that are not listed"
    yield f"The scan of processes was {how} ({scan.seconds:.2f} s)."


def name(gpu: Gpu) -> str:
    """What a human calls it."""
    return f"GPU {gpu.index} ({gpu.bdf})" if gpu.index is not None else f"GPU {gpu.bdf}"
