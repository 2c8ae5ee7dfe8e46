"""The driver as the kernel shows it, before anyone asks the driver itself."""

from __future__ import annotations

from stoker.health.seen import Driver, Smi
from stoker.recovery import asking, files, targets
from stoker.recovery.machine import Machine

_MODINFO = ("modinfo", "-F", "version")
_MODINFO_S = 5.0
_MODULES = ("nvidia", "nvidia-current")
"""As NVIDIA calls it, and as Debian does."""


def version(machine: Machine) -> str:
    """Version of the loaded module; empty: none is loaded. A node in /dev proves nothing."""
    return files.text(machine.of_driver("/sys/module/nvidia/version")).strip()


def seen(machine: Machine, smi: Smi) -> Driver:
    """All of it, with how nvidia-smi answered."""
    told = files.text(machine.of_driver("/proc/driver/nvidia/version"))
    return Driver(
        version=version(machine),
        open="Open Kernel Module" in told if told else None,
        installed=_installed(),
        majors=targets.majors(files.text(machine.of_driver("/proc/devices"))),
        modules=_modules(machine),
        smi=smi,
    )


def _installed() -> str:
    """Version of the module on disk; empty: not known."""
    for name in _MODULES:
        told = asking.ask((*_MODINFO, name), _MODINFO_S)
        if told.code == 0 and told.out.strip():
            return told.out.strip()
    return ""


def _modules(machine: Machine) -> dict[str, int]:
    folder = machine.of_driver("/sys/module")
    counts = {
        name: files.text(f"{folder}/{name}/refcnt").strip()
        for name in files.names(folder)
        if name.startswith("nvidia")
    }
    return {name: int(count) for name, count in counts.items() if count.isdecimal()}
