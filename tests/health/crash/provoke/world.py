"""The little world that one start of SGLang sees: no network, no toolkit, own /home, /tmp, /srv.

Everything is a mount in namespaces of its own, so nothing is left behind when the start is over.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

VENV = Path("/opt/llm/venv")
DRIVER = Path("/opt/llm/driver")
MODELS = Path("/srv/models")
HOME = Path("/home/llm")
USER = 990
_PASSWD = f"root:x:0:0::/root:/bin/sh\nllm:x:{USER}:{USER}::{HOME}:/bin/sh\n"
_EMPTY = ("/usr/local", "/opt", "/srv", "/home", "/tmp", "/dev/shm", "/var/cache")


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def small(where: Path, size: str) -> None:
    """A file system of that size, the server's own."""
    where.mkdir(parents=True, exist_ok=True)
    mount("-t", "tmpfs", "-o", f"size={size},uid={USER},gid={USER},mode=755", "none", str(where))


def built(venv: Path, driver: Path) -> None:
    """Mount it all. The venv and the driver's library come from outside, read-only for the user."""
    Path("/proc/sys/kernel/hostname").write_text("llm-0")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    mount("-t", "tmpfs", "none", "/mnt")
    for path in (venv, driver):
        Path("/mnt", path.name).mkdir()
        mount("--bind", str(path), f"/mnt/{path.name}")
    for name in _EMPTY:
        mount("-t", "tmpfs", "-o", "mode=1777", "none", name)
    for path, place in ((venv, VENV), (driver, DRIVER)):
        place.mkdir(parents=True)
        mount("--move", f"/mnt/{path.name}", str(place))
    passwd = Path("/srv/passwd")
    passwd.write_text(_PASSWD)
    mount("--bind", str(passwd), "/etc/passwd")
    hosts = Path("/srv/hosts")
    hosts.write_text("127.0.0.1 localhost\n127.0.1.1 llm-0\n")
    mount("--bind", str(hosts), "/etc/hosts")
    MODELS.mkdir()
    for path in (Path("/srv"), Path("/opt"), Path("/opt/llm"), MODELS):
        path.chmod(0o755)
    HOME.mkdir()
    shutil.chown(HOME, USER, USER)


def environment(more: dict[str, str | None]) -> dict[str, str]:
    """What the unit of a server without a GPU sets, and `more` (None: not this one)."""
    base: dict[str, str | None] = {
        "HOME": str(HOME),
        "USER": "llm",
        "LANG": "C.UTF-8",
        "PATH": f"{VENV}/bin:/usr/bin:/bin",
        "LD_LIBRARY_PATH": str(DRIVER),
        "SGLANG_USE_CPU_ENGINE": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONUNBUFFERED": "1",
    }
    return {key: value for key, value in (base | more).items() if value is not None}
