"""What only nvidia-smi knows of a node's settings, by its fields."""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

from stoker.health.node_seen import Row, Settings


def by_daemon(seen: Settings) -> Iterator[Row]:
    said = "nvidia-persistenced runs" if seen.persistenced else "nvidia-smi was not asked"
    yield Row("persistence", said, True if seen.persistenced else None)


def by_smi(smi: Sequence[Mapping[str, str]], daemon: bool) -> Iterator[Row]:
    if not smi:
        yield Row("nvidia-smi", "cannot tell: it gave no answer", None, "see stoker gpus")
        return
    off = [one.get("pci.bus_id", "") for one in smi if one.get("persistence_mode") == "Disabled"]
    do = "node_settings persistence: without it the driver forgets its state with the last user"
    how = "by nvidia-persistenced" if daemon else "set by hand"
    yield Row("persistence", f"off on {len(off)} GPUs" if off else how, not off, do if off else "")
    yield _power(smi)
    yield _memory(smi)


def _power(smi: Sequence[Mapping[str, str]]) -> Row:
    pairs = {(one.get("power.limit", ""), one.get("power.default_limit", "")) for one in smi}
    if not all(_watts(word) for pair in pairs for word in pair):
        return Row("power limit", "cannot tell", None)
    told = ", ".join(sorted(f"{limit} W of {default} W" for limit, default in pairs))
    return Row("power limit", told, True if all(one == two for one, two in pairs) else None)


def _watts(word: str) -> bool:
    return word.replace(".", "", 1).isdecimal()


def _memory(smi: Sequence[Mapping[str, str]]) -> Row:
    failed = [one["pci.bus_id"] for one in smi if one.get("remapped_rows.failure") == "Yes"]
    if failed:
        do = "the GPU's memory is used up; have it replaced"
        return Row("memory rows", f"a remapping failed on {', '.join(failed)}", False, do)
    pending = [one["pci.bus_id"] for one in smi if one.get("remapped_rows.pending") == "Yes"]
    if pending:
        do = "a reset of the GPU, or a reboot, makes it hold"
        return Row("memory rows", f"a remapping waits on {', '.join(pending)}", False, do)
    states = {one.get("ecc.mode.current", "") for one in smi}
    return Row("memory rows", f"none pending, ECC {'/'.join(sorted(states - {''})) or 'unknown'}")
