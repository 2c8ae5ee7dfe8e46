"""How a node's GPUs are connected: their links, and the way from one to another."""

from __future__ import annotations

from typing import Iterator, Sequence

from stoker.health.node_seen import Gpu, Row, Settings


def paths(seen: Settings) -> Iterator[Row]:
    """Whether one GPU reaches another directly."""
    kinds = sorted({gpu.iommu for gpu in seen.gpus})
    words = " ".join(word for word in seen.command_line.split() if "iommu" in word)
    said = " and ".join(kind or "no IOMMU group" for kind in kinds)
    yield Row("IOMMU", f"{said}{f' ({words})' if words else ''}", None)
    yield _redirection(seen, any(kind.startswith("DMA") for kind in kinds))


def _redirection(seen: Settings, translated: bool) -> Row:
    bridges = {bdf: state for gpu in seen.gpus for bdf, state in gpu.bridges}
    redirecting = [bdf for bdf, state in bridges.items() if state]
    if not bridges:
        return Row("ACS", "cannot tell: no bridge above the GPUs is seen", None)
    if not redirecting and None in bridges.values():
        return Row("ACS", "cannot tell: the bridges' configuration is not readable", None)
    if not redirecting:
        return Row("ACS", "no bridge above the GPUs redirects")
    more = ", ..." if redirecting[3:] else ""
    found = f"{len(redirecting)} bridges above GPUs redirect ({', '.join(redirecting[:3])}{more})"
    if len(seen.gpus) < 2 or not translated:
        return Row("ACS", found, None)
    do = (
        "behind a translating IOMMU some such nodes are reported to hang in the first all-reduce: "
        "iommu=pt (node_settings kernel_command_line) or NCCL_P2P_DISABLE=1 is said to help"
    )
    return Row("ACS", found, False, do)


def width(gpus: Sequence[Gpu]) -> Row:
    """Lanes against what GPU and slot both have."""
    narrow, known = [], False
    for gpu in gpus:
        numbers = [gpu.width, gpu.most_width]
        if not all(one.isdecimal() and 0 < int(one) <= 32 for one in numbers):
            continue
        known = True
        offered = int(gpu.slot_width) if gpu.slot_width.isdecimal() else int(gpu.most_width)
        possible = min(int(gpu.most_width), offered or int(gpu.most_width))
        if int(gpu.width) < possible:
            narrow.append(f"{gpu.bdf} x{gpu.width} of x{possible}")
    if narrow:
        do = "look at riser, slot and bifurcation: the link trained with fewer lanes"
        return Row("link width", ", ".join(narrow), False, do)
    if not known:
        return Row("link width", "cannot tell: sysfs shows no link", None)
    return Row("link width", ", ".join(sorted({f"x{gpu.width}" for gpu in gpus if gpu.width})))


def speed(gpus: Sequence[Gpu]) -> Row:
    """Never a fault: a GPU that idles has a slow link."""
    found = {f"{gpu.speed} of {gpu.most_speed}" for gpu in gpus if gpu.speed and gpu.most_speed}
    slow = any(gpu.speed != gpu.most_speed for gpu in gpus if gpu.speed and gpu.most_speed)
    if not found:
        return Row("link speed", "cannot tell: sysfs shows no link", None)
    told = ", ".join(sorted(found))
    return Row(
        "link speed", f"{told}, which an idle GPU lowers" if slow else told, not slow or None
    )


def aspm(seen: Settings) -> Row:
    """Whether links may sleep; that it loses GPUs is only reported."""
    policy = f"policy {seen.aspm.partition('[')[2].partition(']')[0] or 'unknown'}"
    states = {gpu.l1 for gpu in seen.gpus}
    if "1" in states:
        do = "idle GPUs are reported lost with it; pcie_aspm=off turns it off"
        return Row("ASPM", f"{policy}, L1 is on for a GPU's link", None, do)
    if "" in states:
        return Row("ASPM", f"{policy}; cannot tell for the GPUs' links", None)
    return Row("ASPM", f"{policy}, off on the GPUs' links")
