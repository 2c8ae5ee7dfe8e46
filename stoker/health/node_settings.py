"""What a node's settings are worth to its GPUs: a row a check, a sentence for what is not good.

A wrong sentence costs more than none: what others only report, or cannot be told from here, is no
fault (`good` is None).
"""

from __future__ import annotations

import re
from typing import Mapping, Optional, Sequence, Tuple

from stoker.health.node_links import aspm, paths, speed, width
from stoker.health.node_seen import Row, Settings
from stoker.health.node_smi import by_daemon, by_smi


def rows(seen: Settings, smi: Optional[Sequence[Mapping[str, str]]] = None) -> Tuple[Row, ...]:
    """The checks of one node. `smi`: nvidia-smi's fields of each GPU; None: it was not asked."""
    if not seen.gpus:
        return (Row("GPUs", "the node has no NVIDIA GPU on its PCI bus", None),)
    return (
        Row("GPUs", str(len(seen.gpus))),
        _driver(seen),
        _nouveau(seen),
        _held(seen),
        *paths(seen),
        width(seen.gpus),
        speed(seen.gpus),
        aspm(seen),
        _ptrace(seen),
        *(by_smi(smi, seen.persistenced) if smi is not None else by_daemon(seen)),
    )


def sentences(found: Sequence[Row]) -> Tuple[str, ...]:
    """One for each check that is not good."""
    return tuple(f"{row.check}: {row.found}; {row.do}" for row in found if row.good is False)


_DRIVER_VERSION = re.compile(r"(?:\d+:)?[3-9]\d\d\.\d+")


def driver_packages(packages: Sequence[Tuple[str, str, str]]) -> Tuple[str, ...]:
    """Those that belong to a driver, by their versions: a container toolkit's are none."""
    return tuple(name for name, _, version in packages if _DRIVER_VERSION.match(version))


def unheld(packages: Sequence[Tuple[str, str, str]]) -> Tuple[str, ...]:
    """The driver's packages that the next upgrade may replace."""
    held = {name for name, want, _ in packages if want == "hold"}
    return tuple(name for name in driver_packages(packages) if name not in held)


def _driver(seen: Settings) -> Row:
    if not seen.loaded and all(gpu.driver == "vfio-pci" for gpu in seen.gpus):
        return Row("driver", "every GPU is for VMs (vfio-pci)", None)
    if not seen.loaded:
        there = f", {seen.installed} is installed" if seen.installed else ""
        return Row(
            "driver",
            f"no NVIDIA module is loaded{there}",
            False,
            "modprobe nvidia and see journalctl -k" if seen.installed else "install the driver",
        )
    if seen.installed and seen.installed != seen.loaded:
        return Row(
            "driver",
            f"{seen.loaded} is loaded, {seen.installed} is installed",
            False,
            "a reboot, or a reload of the module with every GPU container stopped, is pending",
        )
    return Row("driver", seen.loaded)


def _nouveau(seen: Settings) -> Row:
    if not seen.nouveau:
        return Row("nouveau", "not loaded")
    do = "blacklist it: node_settings modules, then reboot"
    return Row("nouveau", "loaded, which keeps NVIDIA's module from its GPUs", False, do)


def _held(seen: Settings) -> Row:
    loose = unheld(seen.packages)
    if not loose:
        held = driver_packages(seen.packages)
        return Row("packages", f"{len(held)} held" if held else "no driver from packages")
    count = f"{len(loose)} of the driver not held ({loose[0]}{', ...' if loose[1:] else ''})"
    if not seen.unattended:
        return Row("packages", count, None)
    do = "hold them, node_settings hold: an upgrade without a reboot parts module and libraries"
    return Row("packages", f"{count}, and unattended-upgrades is on", False, do)


def _ptrace(seen: Settings) -> Row:
    scope = seen.ptrace_scope
    if scope in ("", "0"):
        return Row("ptrace_scope", scope or "no yama")
    do = "reported to refuse expandable_segments with custom all-reduce in unprivileged containers"
    return Row("ptrace_scope", scope, None, do)
