"""Stand-in: `nvidia-smi -q -x`, the part of the real document that tools read."""

from __future__ import annotations

from typing import List

from . import nvidia_fields
from .gpu_memory import Memory
from .gpu_state import State

HEAD = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'


def escape(text: str) -> str:
    """Text for an element; the interpreter in a container has no xml package."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def tag(name: str, text: str) -> str:
    """One element with escaped text."""
    return f"<{name}>{escape(text)}</{name}>"


def processes(gpu: State, memory: Memory) -> str:
    """The processes of a GPU, all of them compute processes here."""
    each = memory.state["holder_memory_mib"]
    told = "".join(
        "<process_info>"
        + tag("pid", str(holder.pid))
        + tag("type", "C")
        + tag("process_name", holder.name)
        + tag("used_memory", f"{each} MiB")
        + "</process_info>"
        for holder in memory.of(gpu)
    )
    return f"<processes>{told}</processes>"


def element(gpu: State, memory: Memory) -> str:
    """One <gpu>."""

    def told(name: str) -> str:
        return nvidia_fields.gpu_row(gpu, memory, [name], True)[0]

    kinds = ("total", "reserved", "used", "free")
    usage = "".join(tag(kind, told(f"memory.{kind}")) for kind in kinds)
    return (
        f'<gpu id="{gpu["bdf"]}">'
        + tag("product_name", gpu["name"])
        + tag("uuid", gpu["uuid"])
        + tag("minor_number", str(gpu["minor"]))
        + tag("persistence_mode", told("persistence_mode"))
        + f"<pci>{tag('pci_bus_id', gpu['bdf'])}</pci>"
        + f"<fb_memory_usage>{usage}</fb_memory_usage>"
        + f"<utilization>{tag('gpu_util', told('utilization.gpu'))}</utilization>"
        + tag("gpu_recovery_action", told("gpu_recovery_action"))
        + processes(gpu, memory)
        + "</gpu>"
    )


def document(gpus: List[State], memory: Memory) -> str:
    """The whole document."""
    return (
        HEAD
        + "<nvidia_smi_log>"
        + tag("driver_version", memory.state["driver_version"])
        + tag("cuda_version", "13.0")
        + tag("attached_gpus", str(len(gpus)))
        + "".join(element(gpu, memory) for gpu in gpus)
        + "</nvidia_smi_log>\n"
    )
