"""Prints what a node has of containers and GPUs, as one Python literal. Read-only.

Its words: paths, which of them are there.

Run by `python3 -I -S`, once a container a run: hence no import that costs more than the look
itself (json, subprocess, signal and typing each nearly double it) and few processes. What can hang,
Proxmox's file system with its cluster and the driver with a GPU, is read by a child that is left
behind when its time is over; what it has not told by then is None.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PVE = "/etc/pve"
STAND_IN = "/var/lib/stoker-gpu"
VERSION = "/usr/lib/stoker-sandbox/pve-container.version"
STATUS = "/var/lib/dpkg/status"
RESTARTING = "/run/stoker/restarting"
PATIENCE_S = 6.0


def text(path: str) -> str:
    """Of a file; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def names(folder: str) -> list[str]:
    """In a folder; none if it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def in_time(work: Callable[[], object]) -> str:
    """What `work` prints to standard output until its time is over."""
    end, out = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.dup2(out, 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            work()
        finally:
            os._exit(1)
    os.close(out)
    said, until = b"", time.monotonic() + PATIENCE_S
    while select.select([end], [], [], max(0.0, until - time.monotonic()))[0]:
        data = os.read(end, 1 << 20)
        if not data:
            os.waitpid(child, 0)
            return said.decode("utf-8", "replace")
        said += data
    os.kill(child, 9)  # and not waited for: it may hang in the kernel
    return said.decode("utf-8", "replace")


def literals(*reads: Callable[[], object]) -> list[str | None]:
    """What each gives, as a literal, one after the other; None from the first that hangs on."""

    def work() -> None:
        for read in reads:
            try:
                data = ascii(read())
            except OSError:
                data = ""
            left = data.encode() + b"\n"
            while left:
                left = left[os.write(1, left) :]

    told = in_time(work).split("\n")[:-1]
    return [told[n] or None if n < len(told) else None for n in range(len(reads))]


def program(*words: str) -> str:
    """What a program prints, without the line's end; empty: nothing, or it is not there."""
    return in_time(lambda: os.execvp(words[0], words)).strip()


def configurations() -> dict[str, object]:
    """Texts of this node's containers, where the other guests are.

    Raises OSError for a part that cannot be read: a container is not to be taken for an empty one.
    """
    own = os.uname().nodename.split(".")[0]
    texts: dict[int, str] = {}
    elsewhere: dict[int, str] = {}
    machines: dict[int, str] = {}
    pci: dict[int, list[str]] = {}
    for node in sorted(os.listdir(PVE + "/nodes")):
        for kind, found in (("lxc", elsewhere), ("qemu-server", machines)):
            folder = "%s/nodes/%s/%s" % (PVE, node, kind)
            for vmid in guests(folder):
                if kind != "lxc" or node != own:
                    found[vmid] = node
                if node != own:
                    continue
                config = there("%s/%d.conf" % (folder, vmid))
                if kind != "lxc":
                    pci[vmid] = pci_of(config)
                elif config:
                    texts[vmid] = config
    return {
        "texts": texts,
        "elsewhere": elsewhere,
        "machines": machines,
        "pci": pci,
        "quorate": quorate(),
    }


def pci_of(config: str) -> list[str]:
    """The lines that give a VM devices of the node, now or at its next start; not its snapshots."""
    first, *rest = ("\n" + config).split("\n[")
    ours = [first, *(part for part in rest if part.startswith("PENDING]"))]
    return [line for part in ours for line in part.splitlines() if line.startswith("hostpci")]


def quorate() -> bool:
    """Whether the cluster can be written to: what Proxmox looks at, and what it tells of itself.

    Never by trying to: without a quorum root may not write, and is told that it may.
    """
    if not os.lstat(PVE + "/local").st_mode & stat.S_IWUSR:
        return False
    return '"quorate":0' not in "".join(there(PVE + "/.members").split())


def guests(folder: str) -> list[int]:
    """The VMIDs that have a configuration in a folder; none if there is no such folder."""
    try:
        found = os.listdir(folder)
    except FileNotFoundError:
        return []
    return [int(name[:-5]) for name in found if name.endswith(".conf") and name[:-5].isdigit()]


def there(path: str) -> str:
    """The file's text, from which its bytes can be had again; empty if there is none (any more)."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""


def cards_of(root: str) -> list[tuple[str, str, str]]:
    """The GPUs on the bus and what NVIDIA's driver says of each."""
    known = root + "/proc/driver/nvidia/gpus"
    told = {bdf.lower(): text("%s/%s/information" % (known, bdf)) for bdf in names(known)}
    cards = dict.fromkeys(told, "nvidia")
    bus = root + "/sys/bus/pci/devices"
    for bdf in names(bus):
        base = "%s/%s" % (bus, bdf)
        if text(base + "/vendor").startswith("0x10de") and text(base + "/class")[:6] in (
            "0x0300",
            "0x0302",
        ):
            try:
                cards[bdf.lower()] = os.path.basename(os.readlink(base + "/driver"))
            except OSError:
                cards[bdf.lower()] = ""
    return [(bdf, cards[bdf], told.get(bdf, "")) for bdf in sorted(cards)]


def nodes() -> dict[str, tuple[int, int]]:
    """Numbers of NVIDIA's character devices by path."""
    found = {}
    for folder in ("/dev", "/dev/nvidia-caps"):
        for name in names(folder):
            if name.startswith("nvidia"):
                path = "%s/%s" % (folder, name)
                try:
                    status = os.stat(path)
                except OSError:
                    continue
                if stat.S_ISCHR(status.st_mode):
                    found[path] = os.major(status.st_rdev), os.minor(status.st_rdev)
    return found


def running() -> list[int]:
    """VMIDs: their lxc-start listens at a name that `pct` looks for too."""
    prefix, suffix = "@/var/lib/lxc/", "/command"
    found = set()
    for line in text("/proc/net/unix").splitlines():
        name = line.rpartition(" ")[2]
        if name.startswith(prefix) and name.endswith(suffix):
            vmid = name[len(prefix) : -len(suffix)]
            if vmid.isdigit():
                found.add(int(vmid))
    return sorted(found)


def is_stand_in() -> bool:
    """Whether the driver is the sandbox's, as `stoker.recovery.machine` tells it."""
    if os.path.lexists("/sys/module/nvidia") or os.path.lexists("/proc/driver/nvidia"):
        return False
    return '"stand_in"' in text(STAND_IN + "/state.json")


def container_version(stand_in: bool) -> str:
    """Of pve-container; empty: not known. `dpkg-query` would cost as much as all the rest."""
    told = text(VERSION).strip() if stand_in else ""
    return told or in_status(text(STATUS)) or of_pveversion()


def in_status(status: str) -> str:
    """Its version in dpkg's status file; empty: it is not installed by dpkg."""
    _, found, rest = ("\n" + status).partition("\nPackage: pve-container\n")
    fields = rest.partition("\n\n")[0].splitlines()
    if not found or "Status: install ok installed" not in fields:
        return ""
    return next((line[9:] for line in fields if line.startswith("Version: ")), "")


def of_pveversion() -> str:
    """Its version as Proxmox's own program tells it, at half a second of Perl."""
    for line in program("pveversion", "-v").splitlines():
        if line.startswith("pve-container:"):
            return line.partition(":")[2].strip()
    return ""


def existing(paths: list[str]) -> list[str]:
    """Those of the paths that are there; one that a dead server has may hang."""
    return [path for path in paths if os.path.exists(path)]


def look(paths: list[str]) -> dict[str, object]:
    """All of it."""
    stand_in = is_stand_in()
    root = STAND_IN + "/kernel" if stand_in else ""
    pve, gpus, found = literals(configurations, lambda: cards_of(root), lambda: existing(paths))
    return {
        "node": os.uname().nodename.split(".")[0],
        "version": container_version(stand_in),
        "pve": pve,
        "driver": gpus,
        "numbers": nodes(),
        "devices": text("/proc/devices"),
        "own_devices": text(root + "/proc/devices") if stand_in else "",
        "running": running(),
        "restarting": [int(name) for name in names(RESTARTING) if name.isdigit()],
        "existing": found,
    }


if __name__ == "__main__":
    print(ascii(look(sys.argv[1:])))
