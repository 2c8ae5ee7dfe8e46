"""The driver as the kernel shows it, before anyone asks the driver itself."""

from __future__ import annotations

from stoker.health.seen import Driver, Smi
from stoker.recovery import asking, files, targets
from stoker.recovery.machine import Machine

_MODINFO = ("modinfo", "-F", "version", "nvidia")
_MODINFO_S = 5.0


def version(machine: Machine) -> str:
    """Version of the loaded module; empty: none is loaded. A node in /dev proves nothing."""
    return files.text(machine.of_driver("/sys/module/nvidia/version")).strip()


def seen(machine: Machine, smi: Smi) -> Driver:
    """All of it, with how nvidia-smi answered."""
    told = files.text(machine.of_driver("/proc/driver/nvidia/version"))
    installed = asking.ask(_MODINFO, _MODINFO_S)
    return Driver(
        version=version(machine),
        open="Open Kernel Module" in told if told else None,
        installed=installed.out.strip() if installed.code == 0 else "",
        majors=targets.majors(files.text(machine.of_driver("/proc/devices"))),
        modules=_modules(machine),
        smi=smi,
    )


def _modules(machine: Machine) -> dict[str, int]:
    folder = machine.of_driver("/sys/module")
    counts = {
        name: files.text(f"{folder}/{name}/refcnt").strip()
        for name in files.names(folder)
        if name.startswith("nvidia")
    }
    return {name: int(count) for name, count in counts.items() if count.isdecimal()}
