"""Prints a node's settings that its GPUs' users feel, as one Python literal. Read-only.

Run by `python3 -I -S` in every run, hence no import that costs more than the look itself.
Arguments: the root to look below (empty: the machine's), and that of the driver's files in `/sys`.
"""

import os
import sys

ROOT, DRIVER = sys.argv[1], sys.argv[2]
PCI = DRIVER + "/sys/bus/pci/devices"
NVIDIA, DISPLAY = "0x10de", ("0x0300", "0x0302")
ACS, REDIRECTS = 0x0D, 0x0C  # of PCI Express 6.12: request and completion redirect
MOST_CAPABILITIES = 128


def text(path: str) -> str:
    """Of a file; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read().strip()
    except OSError:
        return ""


def names(folder: str) -> "list[str]":
    """In a folder; none if it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def link(path: str) -> str:
    """Where it points; empty: it is no link."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def redirects(folder: str) -> "bool | None":
    """Whether a bridge sends requests of one GPU for another up to the root complex.

    None: its extended configuration space cannot be read.
    """
    try:
        with open(folder + "/config", "rb") as stream:
            space = stream.read(4096)
    except OSError:
        return None
    if len(space) < 4096 or space[:2] == b"\xff\xff":
        return None
    at = 0x100
    for _ in range(MOST_CAPABILITIES):
        header = int.from_bytes(space[at : at + 4], "little")
        if header in (0, 0xFFFFFFFF):
            return False
        if header & 0xFFFF == ACS:
            return bool(space[at + 6] & REDIRECTS)
        at = header >> 20 & 0xFFC
        if at < 0x100:
            return False
    return None


def gpu(bdf: str) -> "dict[str, object]":
    """One GPU, the slot that it sits in and every bridge above it."""
    here = PCI + "/" + bdf
    real = os.path.realpath(here)
    above = [part for part in real.split("/")[:-1] if part.count(":") == 2]
    slot = os.path.dirname(real)
    group = os.path.realpath(here + "/iommu_group")
    return {
        "bdf": bdf,
        "width": text(here + "/current_link_width"),
        "most_width": text(here + "/max_link_width"),
        "slot_width": text(slot + "/max_link_width") if above else "",
        "speed": text(here + "/current_link_speed"),
        "most_speed": text(here + "/max_link_speed"),
        "iommu": text(group + "/type") if os.path.exists(here + "/iommu_group") else "",
        "driver": os.path.basename(link(here + "/driver")),
        "l1": text(here + "/link/l1_aspm"),
        "bridges": [(part, redirects(PCI + "/" + part)) for part in above],
    }


def gpus() -> "list[dict[str, object]]":
    """NVIDIA's display controllers; their audio functions and USB are none."""
    return [
        gpu(bdf)
        for bdf in names(PCI)
        if text(PCI + "/" + bdf + "/vendor") == NVIDIA
        and text(PCI + "/" + bdf + "/class")[:6] in DISPLAY
    ]


def installed() -> str:
    """Version of the module on disk for the kernel that runs; empty: none, or no modinfo."""
    if ROOT:
        return text(ROOT + "/modinfo")
    # As NVIDIA calls it, and as Debian does.
    return modinfo("nvidia") or modinfo("nvidia-current")


def modinfo(module: str) -> str:
    """Its version; empty: there is none."""
    end, out = os.pipe()
    nothing = os.open(os.devnull, os.O_WRONLY)
    to = [(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, nothing, 2)]
    words = ["modinfo", "-F", "version", module]
    try:
        child = os.posix_spawnp(words[0], words, os.environ, file_actions=to)
    except OSError:
        return ""
    finally:
        os.close(out)
        os.close(nothing)
    with open(end, encoding="utf-8", errors="replace") as stream:
        said = stream.read()
    os.waitpid(child, 0)
    return said.strip()


def packages() -> "list[tuple[str, str, str]]":
    """Name, what dpkg is to do with it, and version, of installed ones that may be a driver's."""
    found = []
    for entry in text(ROOT + "/var/lib/dpkg/status").split("\n\n"):
        name = entry[9 : entry.find("\n")] if entry.startswith("Package: ") else ""
        if "nvidia" not in name and not name.startswith(("libcuda", "libnv", "cuda-drivers")):
            continue
        rows = dict(row.split(": ", 1) for row in entry.splitlines() if row[:7] in ROWS)
        state = rows.get("Status", "").split()
        if state[2:] == ["installed"]:
            found.append((name, state[0], rows.get("Version", "")))
    return found


ROWS = ("Status:", "Version")


def unattended() -> bool:
    """Whether packages are upgraded without anybody asking."""
    if not os.path.exists(ROOT + "/usr/bin/unattended-upgrade"):
        return False
    said = ""
    for name in names(ROOT + "/etc/apt/apt.conf.d"):
        for row in text(ROOT + "/etc/apt/apt.conf.d/" + name).splitlines():
            if row.strip().startswith("APT::Periodic::Unattended-Upgrade "):
                said = row.split('"')[1] if row.count('"') == 2 else ""
    return said not in ("", "0")


def persistenced() -> bool:
    """Whether NVIDIA's daemon that keeps the GPUs initialized runs."""
    pid = text(ROOT + "/run/nvidia-persistenced/nvidia-persistenced.pid")
    return pid.isdecimal() and text(ROOT + f"/proc/{pid}/comm").startswith("nvidia-persiste")


print(
    repr(
        {
            "loaded": text(DRIVER + "/sys/module/nvidia/version"),
            "installed": installed(),
            "gpus": gpus(),
            "command_line": text(ROOT + "/proc/cmdline"),
            "nouveau": os.path.exists(ROOT + "/sys/module/nouveau"),
            "aspm": text(ROOT + "/sys/module/pcie_aspm/parameters/policy"),
            "ptrace_scope": text(ROOT + "/proc/sys/kernel/yama/ptrace_scope"),
            "persistenced": persistenced(),
            "packages": packages(),
            "unattended": unattended(),
            "cmdline_file": text(ROOT + "/etc/kernel/cmdline"),
            "grub_file": text(ROOT + "/etc/default/grub"),
        }
    )
)
