"""`nvidia-smi -q -x`: what its document tells, for drivers 550 to 595, and how it ended.

The document is the only question asked: one unknown field of `--query-gpu` fails the whole query.
A placeholder where a number belongs is None, never zero, and so is a tag that a driver lacks.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

from stoker.health import bdf, smi_messages
from stoker.health.seen import Smi
from stoker.health.smi_document import Garbled, bare, number, root, said, split, switch


@dataclass(frozen=True)
class SmiProcess:
    """A process as nvidia-smi lists it: evidence, never a target.

    RM lists the creator of a client, so a forked child that keeps the memory is not told.
    """

    pid: int
    """In the pid namespace of the caller."""
    type: str
    """`C`, `G`, `C+G` or, under MPS, `M+C`."""
    name: str
    """May be a whole command line, secrets and all; empty: the process has gone."""
    used_mib: int | None


@dataclass(frozen=True)
class SmiGpu:
    """One GPU of the document."""

    uuid: str
    """Empty where a placeholder stood."""
    bdf: str
    """As sysfs writes it, `0000:01:00.0`; empty if it could not be read."""
    minor: int | None
    """N of /dev/nvidiaN; another than `index`."""
    index: int
    """Its place in the document, which is nvidia-smi's `-i` number."""
    name: str
    total_mib: int | None
    reserved_mib: int | None
    used_mib: int | None
    """Without `reserved_mib`."""
    utilization_pct: int | None
    persistence: bool | None
    mig: bool | None
    """Whether it is partitioned now."""
    recovery_action: str | None
    """`None`, `Reset`, `Reboot`, `Drain P2P`, `Drain and Reset` or another word; None: the driver
    has no such field (550) and none of its older ones says yes."""
    error: str
    """What replaced its fields, such as `GPU is lost`; empty: nothing."""
    processes: tuple[SmiProcess, ...]


@dataclass(frozen=True)
class Report:
    """The whole document."""

    driver_version: str
    gpus: tuple[SmiGpu, ...]


# Where these stand, the GPU is gone; an odd one says so only in the fields every GPU has.
_LOST = {"gpu is lost", "gpu requires reset"}
_ODD = {"unknown error", "err!"}


def parse(text: str) -> Report:
    """The document in what nvidia-smi wrote; Garbled if it is not whole."""
    document = root(text)
    gpus = tuple(_gpu(index, element) for index, element in enumerate(document.findall("gpu")))
    return Report(driver_version=said(document, "driver_version"), gpus=gpus)


def outcome(code: int | None, stdout: str, stderr: str, seconds: float) -> Smi:
    """How `nvidia-smi -q -x` ended; a `code` of None: not in time.

    Its words go before its code: 9 says nothing about the arguments, and 255 may be anything.
    """
    before, document = split(stdout)
    words = f"{before[:20_000]}\n{stderr[:20_000]}"
    text = smi_messages.first_line(words)
    if code is None:
        return Smi("hung", None, text, seconds)
    state = smi_messages.state_by_text(words)
    if code == 0 and (document or not state) and state != "lost":
        state, text = _by_document(document, text)
    return Smi(state or smi_messages.state_by_code(code), code, text, seconds)


def _by_document(document: str, text: str) -> tuple[str, str]:
    try:
        gpus = parse(document).gpus
    except Garbled as error:
        return "garbled", text or str(error)
    return ("ok", text) if gpus else ("no-devices", text or "No devices were found")


def _gpu(index: int, element: ET.Element) -> SmiGpu:
    return SmiGpu(
        uuid=said(element, "uuid"),
        bdf=_address(element),
        minor=number(element, "minor_number"),
        index=index,
        name=said(element, "product_name"),
        total_mib=number(element, "fb_memory_usage/total"),
        reserved_mib=number(element, "fb_memory_usage/reserved"),
        used_mib=number(element, "fb_memory_usage/used"),
        utilization_pct=number(element, "utilization/gpu_util"),
        persistence=switch(element, "persistence_mode"),
        mig=switch(element, "mig_mode/current_mig"),
        recovery_action=_recovery_action(element),
        error=_error(element),
        processes=tuple(_processes(element)),
    )


def _address(element: ET.Element) -> str:
    for told in (said(element, "pci/pci_bus_id"), element.get("id", "")):
        try:
            return bdf.normal(told)
        except ValueError:
            continue
    return ""


def _processes(element: ET.Element) -> list[SmiProcess]:
    found = []
    for process in element.findall("processes/process_info"):
        pid = number(process, "pid")
        if pid is not None:
            kind, name = said(process, "type"), said(process, "process_name")
            found.append(SmiProcess(pid, kind, name, number(process, "used_memory")))
    return found


def _recovery_action(element: ET.Element) -> str | None:
    action = said(element, "gpu_recovery_action")
    if action:
        return action
    # 550 knows only these two; their No does not say that no other action is due.
    if said(element, "gpu_reset_status/reset_required") == "Yes":
        return "Reset"
    if said(element, "gpu_reset_status/drain_and_reset_recommended") == "Yes":
        return "Drain and Reset"
    return None


def _error(element: ET.Element) -> str:
    for field in element.iter():
        if bare(field.text).lower() in _LOST and field.tag != "process_name":
            return bare(field.text)
    for path in ("uuid", "fb_memory_usage/total", "fb_memory_usage/used"):
        told = bare(element.findtext(path))
        if told.lower() in _ODD:
            return told
    return ""
