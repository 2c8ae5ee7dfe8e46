"""What the machine lacks: driver, toolkit, headers, a fitting venv, writable directories."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.health.crash.provoke import world
from tests.health.crash.provoke.scenario import Scenario, tiny

_PYTHON = Path(sys.executable).resolve()
_PACKAGES = world.VENV / "lib/python3.11/site-packages"
_TOOLKIT = str(_PACKAGES / "nvidia/cu13")
_GPU = {"--device": "-", "--attention-backend": "-", "--mem-fraction-static": "0.8"}
_FAKE = {"PYTHONPATH": "/srv/fake", "SGLANG_USE_CPU_ENGINE": None}
_WITH_TOOLKIT = _FAKE | {"CUDA_HOME": _TOOLKIT}
_CUDA = Path(__file__).with_name("fake_cuda.py").read_text()


def _faked() -> None:
    """A faked GPU of compute capability 12.0, no toolkit in /usr/local."""
    tiny()
    Path("/srv/fake").mkdir()
    Path("/srv/fake/sitecustomize.py").write_text(_CUDA)


def hidden(directory: str, *names: str) -> None:
    """The directory without these entries, for what is started here only."""
    scratch = Path("/srv/hidden", directory.strip("/").replace("/", "-"))
    for part in ("upper", "work"):
        (scratch / part).mkdir(parents=True)
    world.mount(
        *("-t", "overlay", "overlay", "-o"),
        f"lowerdir={directory},upperdir={scratch}/upper,workdir={scratch}/work",
        directory,
    )
    for name in names:
        Path(directory, name).unlink()


def _no_libnuma() -> None:
    """Libnuma.so.1 is not there."""
    tiny()
    hidden("/usr/lib/x86_64-linux-gnu", "libnuma.so.1")


def _no_headers() -> None:
    """Python.h is not there."""
    _faked()
    hidden("/usr/include/python3.11", "Python.h")


def _no_ninja() -> None:
    """There is no ninja."""
    _faked()
    hidden("/usr/bin", "ninja")
    hidden(str(world.VENV / "bin"), "ninja")


def _other(wheel: str, package: str) -> None:
    """One package of the venv from another wheel, as an unlocked install has it."""
    tiny()
    with zipfile.ZipFile(next(world.DRIVER.glob(wheel))) as archive:
        archive.extractall("/srv/other")
    subprocess.run(["chmod", "-R", "a+rX", "/srv/other"], check=True)
    world.mount("--bind", f"/srv/other/{package}", str(_PACKAGES / package))


def _kernels() -> None:
    """Kernels 0.17.2 in the venv."""
    _other("kernels-0.17.2-*.whl", "kernels")


def _sgl_kernel() -> None:
    """The sglang-kernel of the other version in the venv."""
    _other("sglang_kernel-*.whl", "sgl_kernel")


def _python_without_library() -> None:
    """A Python whose libpython lies where only root may read, if this one lies there."""
    tiny()
    Path("/opt/llm/venv312/bin").mkdir(parents=True)
    shutil.copy(_PYTHON, "/opt/llm/venv312/bin/python")


def _python_of_root() -> None:
    """The venv's python is a link to where only root may read, if this one lies there."""
    tiny()
    Path("/opt/llm/venv312/bin").mkdir(parents=True)
    Path("/opt/llm/venv312/bin/python").symlink_to(_PYTHON)


def _home_of_root() -> None:
    """HOME belongs to root."""
    tiny()
    shutil.chown(world.HOME, 0, 0)


def _cache_of_root() -> None:
    """HOME and an unreadable HOME/.cache belong to root."""
    _home_of_root()
    (world.HOME / ".cache").mkdir(mode=0o700)


def _model_of_root() -> None:
    """Only root may read config.json."""
    tiny()
    (world.MODELS / "tiny/config.json").chmod(0o600)


def _weights_of_root() -> None:
    """Only root may read the weights."""
    tiny()
    (world.MODELS / "tiny/model.safetensors").chmod(0o600)


def _temporary_full() -> None:
    """/tmp and /var/tmp are full."""
    tiny()
    for path in (Path("/tmp"), Path("/var/tmp")):
        world.mount("-t", "tmpfs", "-o", "size=64k,mode=1777", "none", str(path))
        subprocess.run(["dd", "if=/dev/zero", f"of={path}/full"], stderr=subprocess.DEVNULL)


def _shared_memory_full() -> None:
    """/dev/shm has 64 KiB."""
    tiny()
    world.mount("-t", "tmpfs", "-o", "size=64k,mode=1777", "none", "/dev/shm")


_PYTHON = ["/bin/sh", "-c", "exec /opt/llm/venv312/bin/python -m sglang.launch_server"]
_TP = {"--tp-size": "2"}

ALL = {
    "libcuda_missing": Scenario(env={"LD_LIBRARY_PATH": None}),
    "libnuma_missing": Scenario(prepare=_no_libnuma),
    "no_accelerator": Scenario({"--device": "-"}, {"SGLANG_USE_CPU_ENGINE": None}),
    "cuda_home_missing": Scenario(_GPU, _FAKE, prepare=_faked),
    "cuda_home_given": Scenario(_GPU, _WITH_TOOLKIT, prepare=_faked),
    "python_headers_missing": Scenario(_GPU, _WITH_TOOLKIT, prepare=_no_headers),
    "ninja_missing": Scenario(_GPU, _WITH_TOOLKIT, prepare=_no_ninja),
    "kernels_pkg": Scenario(prepare=_kernels, versions=("0.5.12",)),
    "torch_abi_mismatch": Scenario(prepare=_sgl_kernel),
    "libpython_missing": Scenario(words=_PYTHON, prepare=_python_without_library),
    "python_of_root": Scenario(words=_PYTHON, prepare=_python_of_root),
    "home_of_root": Scenario(prepare=_home_of_root),
    "cache_of_root": Scenario(env={"HF_HUB_OFFLINE": None}, prepare=_cache_of_root),
    "model_of_root": Scenario(prepare=_model_of_root),
    "weights_of_root": Scenario(prepare=_weights_of_root),
    "tmp_full": Scenario(prepare=_temporary_full),
    "shm_small": Scenario(_TP, prepare=_shared_memory_full),
}
