"""What a sandbox needs of this machine, and what may not be on it."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from stoker.refused import Refused
from stoker.sandbox import commands, places, progress

# For the demo with SGLang in a container; a further instance shares images and wheels.
FIRST_GIB = 25
FURTHER_GIB = 3
# The Debian package that brings each program the sandbox calls.
PROGRAMS = {
    "lxc-start": "lxc",
    "mmdebstrap": "mmdebstrap",
    "nft": "nftables",
    "ip": "iproute2",
    "ssh-keygen": "openssh-client",
    "gcc": "gcc",
    "openssl": "openssl",
    "zstd": "zstd",
    "ldconfig": "libc-bin",
}
# gcc only recommends it, and the stand-in libcuda.so.1 includes its headers.
HEADERS = {"/usr/include/stdio.h": "libc6-dev"}
# cap_net_admin, cap_sys_admin, cap_mknod: see capabilities(7).
_CAPABILITIES = {"cap_net_admin": 12, "cap_sys_admin": 21, "cap_mknod": 27}


@dataclass(frozen=True)
class Machine:
    """What was found."""

    is_proxmox: bool
    has_nvidia: bool
    capabilities: int
    free_gib: float
    missing_packages: tuple[str, ...]


def _found(program: str) -> bool:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/bin:/bin"
    return shutil.which(program, path=path) is not None


def look() -> Machine:
    """Look at this machine without changing it."""
    status = Path("/proc/self/status").read_text().splitlines()
    effective = next(line for line in status if line.startswith("CapEff:"))
    existing = next(p for p in (places.ROOT, *places.ROOT.parents) if p.exists())
    missing = {package for program, package in PROGRAMS.items() if not _found(program)}
    missing |= {package for path, package in HEADERS.items() if not Path(path).exists()}
    return Machine(
        is_proxmox=Path("/etc/pve").exists(),
        has_nvidia=Path("/sys/module/nvidia").exists(),
        capabilities=int(effective.split()[1], 16),
        free_gib=shutil.disk_usage(existing).free / 2**30,
        missing_packages=tuple(sorted(missing)),
    )


def refuse_production(machine: Machine) -> None:
    """`Refused` on a Proxmox node or a machine whose NVIDIA driver is loaded."""
    if machine.is_proxmox:
        raise Refused(
            "cannot build a sandbox here: /etc/pve exists, so this is a Proxmox node; "
            "use another machine"
        )
    if machine.has_nvidia:
        raise Refused(
            "cannot build a sandbox here: the module nvidia is loaded, and the sandbox's GPUs are "
            "stand-ins; use a machine without an NVIDIA driver"
        )


def refuse_unfit(machine: Machine, needs_gib: int) -> None:
    """`Refused` with everything that root's package manager cannot bring."""
    lacking = [
        f"the capability {name}"
        for name, bit in _CAPABILITIES.items()
        if not machine.capabilities >> bit & 1
    ]
    if machine.free_gib < needs_gib:
        lacking.append(f"{needs_gib - machine.free_gib:.0f} GiB of free disk at {places.ROOT}")
    if lacking:
        raise Refused(
            f"cannot build a sandbox here: this machine lacks {', '.join(lacking)}; "
            f"use a virtual machine of its own with root and {needs_gib} GiB free"
        )


def install(machine: Machine) -> None:
    """Bring the missing Debian packages, without starting LXC's own bridge for long."""
    if machine.missing_packages:
        words = ["apt-get", "install", "-y", "-q", "--no-install-recommends"]
        with progress.shown(f"installing {' '.join(machine.missing_packages)}"):
            commands.run(["apt-get", "update", "-q"])
            commands.run([*words, *machine.missing_packages])
