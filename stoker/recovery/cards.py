"""The GPUs of a node as the kernel lists them: no question to the driver's library is needed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stoker.recovery import files, in_time
from stoker.recovery.machine import Machine

_BUDGET_S = 1.0
_NVIDIA = "0x10de"
_DISPLAY = ("0x0300", "0x0302")


@dataclass(frozen=True)
class Card:
    """One NVIDIA GPU in a slot."""

    bdf: str
    uuid: str
    """Empty until the driver has initialised it, and if a VM has it."""
    minor: int | None
    name: str
    binding: str
    """Kernel driver; empty: none."""
    off_bus: bool
    """Its configuration space reads all ones, or the driver has it and the bus has not."""
    uvm_retained: int | None


def found(machine: Machine) -> tuple[Card, ...]:
    """Every GPU that the bus or the driver has, by PCI address."""
    known = machine.of_driver("/proc/driver/nvidia/gpus")
    on_bus = _on_bus(machine)
    told = files.names(known)
    shown = _texts(machine, [f"{known}/{bdf}/information" for bdf in told])
    uvm = _uvm(machine)
    by_bdf = {bdf.lower(): shown.get(f"{known}/{bdf}/information", "") for bdf in told}
    return tuple(
        _card(machine, bdf, by_bdf.get(bdf, ""), bdf in on_bus, uvm)
        for bdf in sorted({*on_bus, *by_bdf})
    )


def _card(machine: Machine, bdf: str, told: str, on_bus: bool, uvm: dict[str, int]) -> Card:
    uuid = _value(told, "GPU UUID")
    minor = _value(told, "Device Minor")
    device = machine.of_driver(f"/sys/bus/pci/devices/{bdf}")
    binding = files.link(f"{device}/driver").rpartition("/")[2]
    return Card(
        bdf=bdf,
        uuid="" if "?" in uuid else uuid,
        minor=int(minor) if minor.isdigit() else None,
        name=_value(told, "Model"),
        binding=binding,
        off_bus=not on_bus or (binding != "vfio-pci" and _all_ones(f"{device}/config")),
        uvm_retained=uvm.get(uuid),
    )


def _on_bus(machine: Machine) -> frozenset[str]:
    folder = machine.of_driver("/sys/bus/pci/devices")
    return frozenset(
        bdf.lower()
        for bdf in files.names(folder)
        if files.text(f"{folder}/{bdf}/vendor").strip() == _NVIDIA
        and files.text(f"{folder}/{bdf}/class").startswith(_DISPLAY)
    )


def _all_ones(config: str) -> bool:
    try:
        with open(config, "rb") as stream:
            head = stream.read(64)
    except OSError:
        return False
    return bool(head) and set(head) == {0xFF}


def _uvm(machine: Machine) -> dict[str, int]:
    """References UVM has on each GPU that it knows, by UUID."""
    folder = machine.of_driver("/proc/driver/nvidia-uvm/gpus")
    paths = {uuid: f"{folder}/{uuid}/0/info" for uuid in files.names(folder)}
    shown = _texts(machine, list(paths.values()))
    counts = {
        uuid: re.search(r"retained_count\W+(\d+)", shown.get(path, ""))
        for uuid, path in paths.items()
    }
    return {uuid: int(count[1]) for uuid, count in counts.items() if count}


def _texts(machine: Machine, paths: list[str]) -> dict[str, str]:
    """Files of the driver, behind its locks; one that does not answer in time is not there."""
    return in_time.answers(files.text, paths, in_time.Budget(_BUDGET_S)) if paths else {}


def _value(text: str, key: str) -> str:
    line = re.search(rf"^{key}:[ \t]*(.*?)[ \t]*$", text, re.MULTILINE)
    return line[1] if line else ""
