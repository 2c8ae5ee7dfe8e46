"""Where things lie in a container and on its node. The only place that knows these paths."""

from pathlib import PurePosixPath
from typing import Protocol

OPT = PurePosixPath("/opt/stoker")
ETC = PurePosixPath("/etc/stoker")
"""Environment files of units, mode 0600: `/etc/stoker/sglang@0.env`."""
STATE = PurePosixPath("/var/lib/stoker")
CACHE = PurePosixPath("/var/cache/stoker")
"""What may be thrown away: compiled kernels, per SGLang version."""
UNITS = PurePosixPath("/usr/local/lib/systemd/system")
"""Not /etc/systemd/system: `systemctl mask --runtime` does not stop a unit that lies there."""
ENABLED = PurePosixPath("/etc/systemd/system/multi-user.target.wants")
"""Where `systemctl enable` links the units that start at boot."""
WHEELS = STATE / "wheels"
"""The node's wheel store; mounted read-only at the same path in each container."""
PYZ = STATE / "stoker.pyz"
"""On a node: what looks at its GPUs and recovers them, one file for the node's own python3."""
GPU_NODES = PurePosixPath("/usr/local/lib/stoker/gpu_nodes.sh")
"""On a node: makes the device nodes of its GPUs before any container starts."""
VENVS = OPT / "venvs"
SERVICE_HOME = PurePosixPath("/var/lib/sglang")
LAUNCHER = OPT / "launch" / "sglang_launch_server.py"
"""What a unit starts: SGLang's own launcher, with the API key from the environment."""
GUARD = OPT / "launch" / "await_gpus.py"
"""What a unit runs before that: waits until its GPUs are free."""
DIAGNOSE = PurePosixPath("/usr/local/lib/stoker/diagnose.pyz")
"""What says why a server died. The container's own Python runs it: it works without the venv."""
DEATHS = STATE / "deaths"
"""Reports of the last deaths, a file a unit: `sglang@0.service.json`."""
GAVE_UP = "stoker-gave-up@.service"
"""The unit that says why systemd starts a server no more."""
STAGER = OPT / "launch" / "stage_model.sh"
PUT_BACK = PurePosixPath("/usr/local/lib/stoker/put_back.sh")
"""What brings back the servers before a switch that nobody confirmed."""
PUT_BACK_UNIT = "stoker-put-back.service"
"""Runs it: at boot before the servers, from a timer during a switch, and when a run asks for it."""
PUT_BACK_TIMER = "stoker-put-back.timer"
SWITCH = STATE / "switch"
"""The journal of the switch under way, mode 0700; whoever takes it away ends the switch."""
LEASE = PurePosixPath("/run/stoker/switch-lease")
"""Until when the run of that switch is taken to be alive: seconds as in /proc/uptime. A reboot
takes it away."""
ENABLED_AT_BOOT = PurePosixPath("/etc/systemd/system/sysinit.target.wants")
JOURNAL = PurePosixPath("/etc/systemd/journald.conf.d/stoker.conf")


class Locked(Protocol):
    """The two things of a lock that a path needs."""

    @property
    def sglang(self) -> str:
        """SGLang's version, such as `0.5.12`."""

    @property
    def digest(self) -> str:
        """Hexadecimal digest of the lock file and the interpreter tag; at least 12 digits."""


def uv_path(version: str) -> PurePosixPath:
    """The uv binary of this version."""
    return OPT / "uv" / version / "uv"


def venv_path(lock: Locked) -> PurePosixPath:
    """The venv of this lock; another lock or interpreter is another path."""
    return VENVS / f"sglang-{lock.sglang}-{lock.digest[:12]}"


def completion_mark(venv: PurePosixPath) -> PurePosixPath:
    """Written last; a venv without it was never finished and is not used."""
    return venv / ".complete"


def site_packages(venv: PurePosixPath, python: str) -> PurePosixPath:
    """`python` is the interpreter's version, `3.11`."""
    return venv / "lib" / f"python{python}" / "site-packages"


def cuda_home(venv: PurePosixPath, python: str) -> PurePosixPath:
    """The CUDA 13 tree that the toolkit's wheels make inside the venv."""
    return site_packages(venv, python) / "nvidia" / "cu13"


def env_file(unit: str) -> PurePosixPath:
    """Environment file of a unit, `unit` with its suffix: `sglang@0.service`."""
    return ETC / f"{unit.removesuffix('.service')}.env"


def unit_file(unit: str) -> PurePosixPath:
    """The unit's file, `unit` with its suffix."""
    return UNITS / unit


def kernel_cache(venv: PurePosixPath) -> PurePosixPath:
    """Compiled kernels (triton, flashinfer, torch ...), one tree a venv: new kernels, new tree."""
    return CACHE / venv.name
