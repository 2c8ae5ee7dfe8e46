"""What is asked: one server as it would be started, and all that is known of where.

Every fact may be absent: None says that nobody knows it, and a check that needs it says nothing
(or notes that it cannot tell). It never guesses a refusal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stoker.serving.catalogue.catalogue import Catalogue
from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.checking.model import Model
from stoker.serving.weights.files import Draft, Files


@dataclass(frozen=True)
class Gpus:
    """The GPUs that the container has; all are taken to be of one kind."""

    kind: str | None = None
    """As nvidia-smi names it, or a case."""
    sm: int | None = None
    """Compute capability, 120 for 12.0."""
    count: int | None = None
    memory_mib: int | None = None
    """Of one GPU, all of it, as nvidia-smi says."""
    free_gib: float | None = None
    """Of one GPU with nobody on it, after CUDA's own share; None: estimated from `memory_mib`."""


@dataclass(frozen=True)
class Host:
    """Memory and limits of the machine and of the container."""

    ram_gb: float | None = None
    """All of the node's memory, GB."""
    mem_available_gb: float | None = None
    """What may still be used as the container sees it, GB; without this server's own share."""
    ct_limit_gb: float | None = None
    """The container's memory limit, GB; None: there is none, or nobody knows it."""
    shm_gb: float | None = None
    """Size of /dev/shm in the container, GB."""
    shm_free_gb: float | None = None
    memlock_gb: float | None = None
    """Most that a process may lock, GB; infinity: no limit."""
    unprivileged: bool | None = None
    """Whether the container is; None is taken for yes, as Proxmox makes them."""


@dataclass(frozen=True)
class OtherServer:
    """Another server of the same container that runs or will run beside this one."""

    name: str
    ports: tuple[int, ...] = ()
    """Every TCP port it binds."""
    gpus: tuple[int, ...] = ()
    host_gb: float | None = None
    """Host memory that it wants, GB; None: nobody knows."""


@dataclass(frozen=True)
class Question:
    """One server and its surroundings."""

    name: str
    """Whom a message names: the flag set, the unit or the case."""
    sglang: str
    words: tuple[str, ...]
    """The whole command line after `sglang.launch_server`, as argparse would get it."""
    env: Mapping[str, str]
    parsed: Parsed
    catalogue: Catalogue | None
    """What this version knows; None: it was never recorded."""
    gpus: Gpus = field(default_factory=Gpus)
    host: Host = field(default_factory=Host)
    model: Model | None = None
    draft: Draft | None = None
    files: Files | None = None
    others: tuple[OtherServer, ...] = ()
    visible: int | None = None
    """GPUs that this server is given (CUDA_VISIBLE_DEVICES); None: all of the container's."""
    software: Mapping[str, str] = field(default_factory=dict)
    """Versions of what runs beside SGLang: `cuda` (the toolkit), `torch`, `nccl`, `flashinfer`,
    `driver`. Absent: nobody looked."""
