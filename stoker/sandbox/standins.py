"""Which file of `node/` plays which command of a node."""

from pathlib import Path

SOURCE = Path(__file__).parent / "node"
_INSTALLED = "/usr/lib/stoker-sandbox"
_COMMANDS = {
    "usr/sbin/pct": "pct.py",
    "usr/bin/pvesh": "pvesh.py",
    "usr/bin/pveversion": "pveversion.py",
    "usr/sbin/ha-manager": "ha_manager.py",
    "usr/bin/nvidia-smi": "nvidia_smi.py",
}
_UNITS = ("stoker-gpu.service",)


def contents() -> dict[str, bytes]:
    """Every file of the stand-ins by its path below the directory they are copied to."""
    paths = (path for path in SOURCE.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path.relative_to(SOURCE)): path.read_bytes() for path in paths}


def links() -> dict[str, str]:
    """Symbolic links of a node's root that make the stand-ins its commands and its units."""
    commands = {link: f"{_INSTALLED}/{name}" for link, name in _COMMANDS.items()}
    wants = "etc/systemd/system/sysinit.target.wants"
    return commands | {f"{wants}/{unit}": f"../{unit}" for unit in _UNITS}
