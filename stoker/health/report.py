"""One look at a node as a table for a terminal at 3 a.m., and what to know besides."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from stoker.health.remarks import remarks
from stoker.health.retained import retained
from stoker.health.seen import Gpu, Holder, Seen
from stoker.health.wording import age, shown

WIDTH = 160
# Column -> its widest. The last takes what is left.
_COLUMNS = {
    "GPU": 4,
    "ADDRESS": 12,
    "USED/TOTAL MiB": 14,
    "PID": 10,
    "WHO": 40,
    "SINCE": 12,
    "WHERE": 32,
    "STATE": 22,
}
_LETTERS = {
    "R": "running",
    "S": "sleeping",
    "D": "waiting",
    "T": "stopped",
    "t": "traced",
    "Z": "zombie",
    "I": "idle",
}


def table(seen: Seen, now: float) -> str:
    """The table, then one sentence a line; at most 160 columns wide, ends with a newline."""
    rows = [tuple(_COLUMNS), *_rows(seen, now)]
    cut = [[shown(cell, most) for cell, most in zip(row, _COLUMNS.values())] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cut)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in cut]
    for sentence in remarks(seen, now):
        lines += textwrap.wrap(sentence, WIDTH, subsequent_indent="  ")
    return "\n".join([_head(seen), *lines]) + "\n"


def _head(seen: Seen) -> str:
    driver = seen.driver
    kind = {True: " (open modules)", False: " (proprietary modules)", None: ""}[driver.open]
    version = f"{driver.version}{kind}" if driver.version else "not loaded"
    asked = f"nvidia-smi {driver.smi.state} in {driver.smi.seconds:.1f} s"
    return shown(f"{seen.node}: driver {version}, {asked}", WIDTH)


def _rows(seen: Seen, now: float) -> Iterator[tuple[str, ...]]:
    for gpu in seen.gpus:
        first = (_number(gpu), gpu.bdf, _memory(gpu))
        holders = [holder for holder in seen.holders if gpu.uuid and gpu.uuid in holder.gpus]
        for holder in holders:
            yield (*first, *_who(seen, holder, now))
            first = ("", "", "")
        if not holders:
            yield (*first, "-", "", "", "", _state(seen, gpu))
    for holder in seen.holders:
        if not holder.gpus:
            yield ("any", "", "", *_who(seen, holder, now))


def _number(gpu: Gpu) -> str:
    return "?" if gpu.index is None else str(gpu.index)


def _memory(gpu: Gpu) -> str:
    def told(mib: int | None) -> str:
        return "?" if mib is None else str(mib)

    return f"{told(gpu.used_mib)}/{told(gpu.total_mib)}"


def _who(seen: Seen, holder: Holder, now: float) -> tuple[str, ...]:
    return (
        str(holder.pid),
        holder.command or f"[{holder.name}]",
        age(now - holder.since),
        _where(seen, holder),
        _how(holder),
    )


def _where(seen: Seen, holder: Holder) -> str:
    container = None if holder.owner.vmid is None else seen.container(holder.owner.vmid)
    if holder.owner.kind != "ct" or container is None:
        return str(holder.owner)
    return " ".join(filter(None, (f"CT {container.vmid}", container.name, holder.owner.unit)))


def _how(holder: Holder) -> str:
    if holder.stuck.kind:
        return f"{holder.stuck.kind.upper()} {holder.stuck.where}".strip()
    known = _LETTERS.get(holder.state, holder.state)
    return known if holder.gpus else f"{known}, may hold it"


def _state(seen: Seen, gpu: Gpu) -> str:
    """Of a GPU whose own node nobody has open."""
    if gpu.off_bus or gpu.error:
        return "LOST" if gpu.off_bus else gpu.error.upper()
    if gpu.binding != "nvidia":
        return f"with {gpu.binding}" if gpu.binding else "without a driver"
    if any(kept.uuid == gpu.uuid for kept in retained(seen)):
        return "STUCK MEMORY"
    if gpu.used_mib is None:
        return "memory unknown"
    return "above its baseline" if gpu.over_baseline else "free"
