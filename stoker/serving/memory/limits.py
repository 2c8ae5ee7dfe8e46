"""Limits of the container: /dev/shm, and the memory that a process may lock."""

from collections.abc import Iterator

from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.memory.hostpool import HostPool
from stoker.serving.memory.settings import Settings

_GB = 1.073741824
_LEAST_SHM_GB = 1.0


def staged_gb(question: Question) -> float:
    """GB of a model that lies in /dev/shm, which is the container's memory; 0: it does not."""
    path = str(question.parsed.values.get("model_path") or "")
    model = question.model
    if not path.startswith("/dev/shm/") or model is None or model.weights_gib is None:
        return 0.0
    return model.weights_gib * _GB


def memlock(question: Question, pool: HostPool) -> Iterator[Reason]:
    """The reason `memlock_low`: a rank pins its whole pool."""
    most = question.host.memlock_gb
    if most is None or pool.gb <= most:
        return
    yield Reason(
        name="memlock_low",
        severity="warn",
        message=f"each rank pins {pool.gb:.0f} GB of host memory for the hierarchical cache, and "
        f"a process may lock {most:.2g} GB here",
        hint="raise the limit of locked memory (LimitMEMLOCK=infinity in the unit, and the "
        "container's)",
    )


def shm(question: Question, settings: Settings) -> Iterator[Reason]:
    """The reason `shm_short`: for a model that is to lie there, or for several ranks."""
    host, staged = question.host, staged_gb(question)
    missing = question.files is not None and question.files.exists is False
    if staged and missing and host.shm_free_gb is not None and staged > host.shm_free_gb:
        yield Reason(
            name="shm_short",
            severity="refuse",
            message=f"the model's {staged:.1f} GB are to lie in /dev/shm, which has "
            f"{host.shm_free_gb:.1f} GB free",
            hint="enlarge /dev/shm in the container, or serve the model from disk",
        )
    elif settings.ranks_here > 1 and host.shm_gb is not None and host.shm_gb < _LEAST_SHM_GB:
        yield Reason(
            name="shm_short",
            severity="warn",
            message=f"/dev/shm has {host.shm_gb:.2f} GB, and {settings.ranks_here} ranks pass "
            "their messages through it",
            hint="give the container 1 GB of /dev/shm or more",
        )
