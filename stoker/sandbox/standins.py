"""Putting the stand-ins of `node/` in place: Proxmox's commands, and the GPUs with their driver."""

import os
import shutil
from pathlib import Path

from stoker.sandbox import gpu, interpreter
from stoker.sandbox.files import remove_tree, replace_link, write_atomically
from stoker.sandbox.node import HERE, install

SHARED = "/var/lib/stoker-gpu"
OBSERVER = "stoker-gpu-observer.service"
_GPU = ("gpu_*.py", "nvidia_*.py")
# The unit, and the target that wants it.
_UNITS = {"stoker-gpu.service": "sysinit", OBSERVER: "multi-user"}

# Like a real nvidia-smi it runs in a container that has no python3; so it brings one.
_NVIDIA_SMI = f"""\
#!/bin/sh
# STAND-IN for nvidia-smi: see stoker/sandbox/node/nvidia_smi.py
LD_LIBRARY_PATH={SHARED}/python/lib exec {SHARED}/python/bin/python3 -I -S -c '
import sys
sys.path.insert(0, "{SHARED}")
from smi import nvidia_smi
sys.exit(nvidia_smi.main(sys.argv[1:]))' "$@"
"""


_MODULES = f"""\
#!/bin/sh
# STAND-IN for {{program}}: see stoker/sandbox/node/gpu_modules.py
exec /usr/bin/python3 -B -I -c '
import sys
sys.path.insert(0, "{SHARED}")
from smi import gpu_modules
sys.exit(gpu_modules.main(sys.argv[1:]))' {{program}} "$@"
"""


def place_nvidia_smi(root: Path) -> Path:
    """Put the command into a root file system, of a node or of a container; give its path."""
    path = root / "usr/bin/nvidia-smi"
    write_atomically(path, _NVIDIA_SMI, 0o755)
    return path


def place_on_node(root: Path, name: str) -> None:
    """Everything a node's own root file system holds; safe to do again while it runs."""
    install(root, name)
    place_nvidia_smi(root)
    for program in ("modprobe", "modinfo", "nvidia-modprobe"):
        write_atomically(root / "usr/sbin" / program, _MODULES.format(program=program), 0o755)
    units = root / "etc/systemd/system"
    for unit, target in _UNITS.items():
        write_atomically(units / unit, (HERE / unit).read_bytes())
        replace_link(units / f"{target}.target.wants" / unit, f"../{unit}")


def place_shared(directory: Path, owner: str, count: int, image: Path) -> None:
    """Everything of the directory that a node shares with its containers, read-only for them.

    `owner` names the node and so its GPUs' UUIDs. The GPUs' state is written once: later it is
    what the node, its boots and the injected failures have made of it.
    """
    if not (directory / "state.json").exists():
        gpu.write(directory / "state.json", gpu.initial(owner, count))
    gpus = gpu.read(directory / "state.json")["gpus"]
    listed = "".join(f"{one['minor']} {one['uuid']}\n" for one in gpus)
    write_atomically(directory / "uuids", listed)
    sources = [path for pattern in _GPU for path in sorted(HERE.glob(pattern))]
    for source in sources:
        write_atomically(directory / "smi" / source.name, source.read_bytes())
    write_atomically(directory / "smi/__init__.py", "")
    python = directory / "python"
    made = interpreter.built(image)
    of = python / "of"
    # Written last: without it a copy was cut off.
    if not of.exists() or of.read_text() != made.name:
        remove_tree(python)
        shutil.copytree(made, python, copy_function=os.link)
        write_atomically(of, made.name)
