"""What every start of one version shares: its venv, and what stands in for a driver."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from stoker.sandbox import libcuda, places
from stoker.serving import lock

_PYTHON = "/usr/bin/python3.11"
_LOCKS = Path(__file__).parents[4] / "locks"
_DRIVER = "580.126.09"
_BREAKS_0_5_12 = "kernels==0.17.2"


def ready(version: str, work: Path) -> None:
    """Make `work`/venv and `work`/driver, unless they are whole."""
    mark = work / "complete"
    if mark.exists():
        return
    work.mkdir(parents=True, exist_ok=True)
    locked = lock.load(_LOCKS, version).lock_for("3.11")
    uv = [sys.executable, "-m", "uv"]
    alone = ["--no-config", "--offline", "--cache-dir", str(work / "uv")]
    subprocess.run([*uv, "venv", *alone, "--clear", "--python", _PYTHON, work / "venv"], check=True)
    sync = [*uv, "pip", "sync", *alone, "--no-index", "--find-links", places.WHEELS]
    sync += ["--require-hashes", "--python", work / "venv/bin/python", "-"]
    subprocess.run(sync, input=locked.requirements.encode(), check=True)
    compile_all = [work / "venv/bin/python", "-m", "compileall", "-q", work / "venv/lib"]
    subprocess.run(compile_all, check=False, stdout=subprocess.DEVNULL)
    _driver(work / "driver", locked)
    mark.touch()


def _driver(place: Path, locked: lock.Lock) -> None:
    """The stand-in library, and the wheels that do not belong into this venv."""
    place.mkdir(exist_ok=True)
    (place / "libcuda.so.1").write_bytes(libcuda.built(_DRIVER).read_bytes())
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place]
    subprocess.run([*pip, _BREAKS_0_5_12], check=True)
    own = {wheel.file for wheel in locked.wheels}
    others = [f for f in places.WHEELS.glob("sglang_kernel-*.whl") if f.name not in own]
    (place / others[0].name).write_bytes(others[0].read_bytes())
