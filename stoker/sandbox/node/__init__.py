"""Stand-ins that run on the sandbox's node: pct, pvesh, pveum, ha-manager, the API, guests at boot.

Everything here is written for the node's bare python3 and imports nothing but the standard
library and itself. `install` places it; the node needs python3, lxc, systemd, tar and zstd.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Dict, NamedTuple, Tuple

from .version import CONTAINER

HERE = Path(__file__).resolve().parent
LIBRARY = "usr/lib/stoker-sandbox"
UNITS = ("pve-container@.service", "pve-guests.service", "pveproxy.service")
EXECUTABLES = ("launch.py", "hook.py", "pveproxy.py", "worker.py")
PARTS = ("web",)
# Where the programs are on a real node, each a link to the one launcher.
LINKS: Dict[str, str] = {
    "usr/sbin/pct": f"/{LIBRARY}/launch.py",
    "usr/bin/pvesh": f"/{LIBRARY}/launch.py",
    "usr/bin/pveversion": f"/{LIBRARY}/launch.py",
    "usr/sbin/ha-manager": f"/{LIBRARY}/launch.py",
    "usr/sbin/pveum": f"/{LIBRARY}/launch.py",
}
ENABLED = {
    "etc/systemd/system/multi-user.target.wants/pve-guests.service": (
        "/etc/systemd/system/pve-guests.service"
    ),
    "etc/systemd/system/multi-user.target.wants/pveproxy.service": (
        "/etc/systemd/system/pveproxy.service"
    ),
}
# What all nodes of a cluster see as one: real ones by a replicated file system, these by a mount.
SHARED = ("nodes", "priv", "user.cfg", "pve-root-ca.pem", "storage.cfg")
SHARED_AT = "../../var/lib/pve-cluster/shared"
DIRECTORIES = ("etc/pve/ha", "var/lib/vz/template/cache", "var/lib/lxc", "etc/stoker-sandbox")


# newuidmap lets root map these ids, as on every Proxmox node.
SUBORDINATE = ("etc/subuid", "etc/subgid")
SUBORDINATE_LINE = "root:100000:65536"


class Placed(NamedTuple):
    """One file of this folder: where it goes below the node's root, and its mode."""

    source: Path
    target: str
    mode: int


def files() -> Tuple[Placed, ...]:
    """Every file that goes onto a node."""
    placed = [Placed(HERE / name, f"{LIBRARY}/{name}", 0o755) for name in EXECUTABLES]
    placed += [Placed(HERE / name, f"etc/systemd/system/{name}", 0o644) for name in UNITS]
    modules = sorted(path for path in HERE.glob("*.py") if path.name not in EXECUTABLES)
    modules += sorted(path for part in PARTS for path in HERE.glob(f"{part}/*.py"))
    placed += [Placed(path, f"{LIBRARY}/node/{path.relative_to(HERE)}", 0o644) for path in modules]
    return tuple(placed)


def install(root: Path, node: str) -> None:
    """Place everything below the root file system of a node of that name; safe to run again.

    `root` is the node's root directory as this process sees it; `node` is its host name.
    """
    for placed in files():
        target = root / placed.target
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.new")
        shutil.copyfile(placed.source, temporary)
        temporary.chmod(placed.mode)
        temporary.replace(target)
    for name in DIRECTORIES:
        (root / name).mkdir(parents=True, exist_ok=True)
    _share(root / "etc/pve")
    (root / "etc/pve/nodes" / node / "lxc").mkdir(parents=True, exist_ok=True)
    links = {"etc/pve/local": f"nodes/{node}", "etc/pve/lxc": f"nodes/{node}/lxc"}
    for name, destination in {**LINKS, **ENABLED, **links}.items():
        _link(root / name, destination)
    claimed = root / LIBRARY / "pve-container.version"
    if not claimed.exists():
        claimed.write_text(f"{CONTAINER}\n")
    for name in SUBORDINATE:
        _with_line(root / name, SUBORDINATE_LINE)


def _share(pve: Path) -> None:
    """Links to what is shared, except where an older checkout has made the thing itself."""
    (pve / SHARED_AT / "nodes").mkdir(parents=True, exist_ok=True)
    for name in SHARED:
        if not os.path.lexists(pve / name):
            # Relative: what looks at a node's files from outside must not leave them.
            os.symlink(f"{SHARED_AT}/{name}", pve / name)


def _with_line(path: Path, line: str) -> None:
    before = path.read_text() if path.exists() else ""
    if line not in before.splitlines():
        path.write_text(f"{line}\n{before}")


def _link(path: Path, destination: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    if temporary.is_symlink():
        temporary.unlink()
    os.symlink(destination, temporary)
    temporary.replace(path)
