"""The GPUs of a node as the kernel lists them: no question to the driver's library is needed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stoker.recovery import files, in_time
from stoker.recovery.machine import Machine

_BUDGET_S, _PATIENCE_S = 3.0, 1.5
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
    on_bus = _on_bus(machine)
    known = machine.of_driver("/proc/driver/nvidia/gpus")
    uvm = machine.of_driver("/proc/driver/nvidia-uvm/gpus")
    of_gpu = {bdf.lower(): f"{known}/{bdf}/information" for bdf in files.names(known)}
    of_uvm = {uuid: f"{uvm}/{uuid}/0/info" for uuid in files.names(uvm)}
    # Behind the driver's locks: what does not answer in time is not known.
    paths = [*of_gpu.values(), *of_uvm.values()]
    texts = in_time.answers(files.text, paths, in_time.Budget(_BUDGET_S), _PATIENCE_S)
    retained = {uuid: _count(texts.get(path, "")) for uuid, path in of_uvm.items()}
    return tuple(
        _card(machine, bdf, texts.get(of_gpu.get(bdf, ""), ""), bdf in on_bus, retained)
        for bdf in sorted({*on_bus, *of_gpu})
    )


def _card(
    machine: Machine, bdf: str, told: str, on_bus: bool, retained: dict[str, int | None]
) -> Card:
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
        uvm_retained=retained.get(uuid),
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


def _count(info: str) -> int | None:
    """References that UVM has on a GPU, from its info file."""
    count = re.search(r"retained_count\W+(\d+)", info)
    return int(count[1]) if count else None


def _value(text: str, key: str) -> str:
    line = re.search(rf"^{key}:[ \t]*(.*?)[ \t]*$", text, re.MULTILINE)
    return line[1] if line else ""
