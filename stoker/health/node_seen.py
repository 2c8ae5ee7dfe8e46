"""A node's settings that its GPUs' users feel, as one quick look shows them, and a check's row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple


@dataclass(frozen=True)
class Gpu:
    """One GPU as sysfs shows it; what it does not tell is empty."""

    bdf: str
    width: str = ""
    """Lanes of its link now."""
    most_width: str = ""
    slot_width: str = ""
    """Lanes that the bridge right above it has at most."""
    speed: str = ""
    """`32.0 GT/s PCIe`; an idle GPU lowers it."""
    most_speed: str = ""
    iommu: str = ""
    """Kind of its IOMMU group: `identity` (passed through), `DMA`, `DMA-FQ`; empty: no IOMMU."""
    driver: str = ""
    """Of the kernel, that has it; `vfio-pci`: it is for a VM."""
    l1: str = ""
    """`1`: its link may sleep (ASPM L1)."""
    bridges: Tuple[Tuple[str, Optional[bool]], ...] = ()
    """Each bridge above it, outermost first, and whether it redirects (ACS); None: not readable."""


@dataclass(frozen=True)
class Settings:
    """A node's settings, as one quick look shows them."""

    loaded: str = ""
    """Version of the NVIDIA module that is loaded; empty: none."""
    installed: str = ""
    """Version of the module on disk; empty: none, or it cannot be told."""
    gpus: Tuple[Gpu, ...] = ()
    command_line: str = ""
    """Of the kernel that runs."""
    nouveau: bool = False
    aspm: str = ""
    """The kernel's policies, the one that holds in brackets."""
    ptrace_scope: str = ""
    persistenced: bool = False
    packages: Tuple[Tuple[str, str, str], ...] = ()
    """Name, what dpkg is to do with it (`install`, `hold`) and version of each installed one."""
    unattended: bool = False
    """Whether packages are upgraded without anybody asking."""
    cmdline_file: str = ""
    """/etc/kernel/cmdline, which proxmox-boot-tool reads."""
    grub_file: str = ""
    """/etc/default/grub."""


@dataclass(frozen=True)
class Row:
    """One check."""

    check: str
    found: str
    good: Optional[bool] = True
    """None: it cannot be told, or is only worth knowing."""
    do: str = ""
