"""Host memory: the hierarchical cache of every rank and server.

Each rank allocates its own pool (INC1: 8 x 300 GB against 449 GB), so the sum is over ranks and
servers, with what SGLang keeps free, against the container's own limit.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from stoker.serving.checking.question import OtherServer, Question
from stoker.serving.checking.reason import Reason
from stoker.serving.memory import hostpool, releases
from stoker.serving.memory.hostpool import HostPool
from stoker.serving.memory.limits import staged_gb
from stoker.serving.memory.prediction import Prediction
from stoker.serving.memory.settings import Settings

RESERVE_GB = 10 * 1.073741824
"""What SGLang leaves free for the system: 10 GiB."""
_PROCESS_GB = 2.0
_SURE = 0.95


def wanted_gb(question: Question, settings: Settings, pool: HostPool | None) -> float:
    """Host memory that the server wants, GB: pools, processes, and a model kept in /dev/shm."""
    pools = settings.ranks_here * pool.gb if pool else 0.0
    return pools + _processes(settings) + staged_gb(question)


def check(
    question: Question,
    settings: Settings,
    prediction: Prediction | str,
    pool: HostPool,
    others: tuple[OtherServer, ...],
) -> Iterator[Reason]:
    """The reasons `host_ram_short` and `hicache_too_small`."""
    least = _least_size(question, settings, prediction, pool)
    short = list(_ram(question, settings, pool, others, least))
    yield from short
    # Where the host's memory is short too, a larger size is no way out.
    for reason in _small(question, pool, least):
        yield replace(reason, hint=short[0].hint) if short else reason


def limit_gb(question: Question) -> tuple[float, str] | None:
    """(GB that may be used, whose they are); None: nobody knows."""
    host = question.host
    known = [
        (gb, what)
        for gb, what in (
            (host.ct_limit_gb, "of the container's limit"),
            (host.mem_available_gb, "of available host memory"),
        )
        if gb is not None
    ]
    return min(known) if known else None


def _processes(settings: Settings) -> float:
    return _PROCESS_GB * (settings.ranks_here + 1)


def _ram(
    question: Question,
    settings: Settings,
    pool: HostPool,
    others: tuple[OtherServer, ...],
    least: tuple[int, str] | None,
) -> Iterator[Reason]:
    limit = limit_gb(question)
    if limit is None:
        return
    beside = _beside(question, settings, limit[1], others)
    ranks = settings.ranks_here
    whole = ranks * pool.gb + sum(gb for _, gb in beside)
    if whole <= limit[0]:
        return
    room = (limit[0] - sum(gb for _, gb in beside)) / ranks
    pools = pool.over(ranks)
    yield Reason(
        name="host_ram_short",
        severity="refuse",
        message=f"the hierarchical cache takes {pools} of host memory, {whole:.0f} GB with what "
        f"else is needed, against {limit[0]:.0f} GB {limit[1]}; its size is for each rank",
        hint=_fitting(question, pool, room, least),
        sums=(pools, *(f"+ {gb:.1f} GB {what}" for what, gb in beside), f"= {whole:.0f} GB"),
    )


def _beside(
    question: Question, settings: Settings, whose: str, others: tuple[OtherServer, ...]
) -> list[tuple[str, float]]:
    beside = [("kept free", RESERVE_GB), ("for its processes", _processes(settings))]
    beside += [(f"for {other.name}", other.host_gb) for other in others if other.host_gb]
    there = question.files is not None and question.files.exists
    if staged_gb(question) and ("limit" in whose or not there):
        beside.append(("of the model in /dev/shm", staged_gb(question)))
    return beside


def _fitting(question: Question, pool: HostPool, each: float, least: tuple[int, str] | None) -> str:
    if pool.size is None:
        ratio = math.floor(pool.ratio * each / pool.gb * 10) / 10 if pool.gb else 0.0
        return f"--hicache-ratio {ratio:g} fits" if ratio > 1 else _NO_SIZE
    size = math.floor(pool.size * each / pool.gb)
    if size < 1:
        return _NO_SIZE
    if least and size < least[0] and releases.has(question.sglang, "host_pool_must_exceed"):
        return (
            f"{_NO_SIZE} (there is memory for --hicache-size {size}, and the GPU's own pool wants "
            f"{least[0]} or more); or make that pool smaller with --max-total-tokens"
        )
    return f"--hicache-size {size} fits"


_NO_SIZE = "leave --enable-hierarchical-cache out: no size fits"


def _least_size(
    question: Question, settings: Settings, prediction: Prediction | str, pool: HostPool
) -> tuple[int, str] | None:
    # (least --hicache-size, GB, why) at which the host's pool is larger than the GPU's.
    if pool.size is None or isinstance(prediction, str) or not prediction.starts:
        return None
    held, kept = prediction.pool.states, hostpool.slots(question, settings, pool)
    device = prediction.pool.tokens
    needs: list[tuple[int, str]] = []
    if pool.tokens:
        what = f"{pool.tokens:,} tokens against about {device:,}"
        needs.append((math.ceil(pool.size * device / pool.tokens), what))
    if held and held.slots and kept:
        what = f"{kept:,} slots of state against about {held.slots:,}"
        needs.append((math.ceil(pool.size * held.slots / kept), what))
    return max(needs, default=None)


def _small(question: Question, pool: HostPool, least: tuple[int, str] | None) -> Iterator[Reason]:
    stops = releases.has(question.sglang, "host_pool_must_exceed")
    if pool.size is None and pool.ratio < 1:
        yield _too_small(f"--hicache-ratio {pool.ratio:g}", "a ratio below 1", stops, "1 or more")
    elif pool.size is not None and least and pool.size <= least[0] * _SURE:
        enough = f"{math.ceil(least[0] / _SURE)} or more"
        yield _too_small(f"--hicache-size {pool.size:g}", least[1], stops, enough)


def _too_small(flag: str, what: str, stops: bool, enough: str) -> Reason:
    ends = "SGLang stops at that" if stops else "it can hold nothing that the GPU does not hold"
    return Reason(
        name="hicache_too_small",
        severity="refuse" if stops else "warn",
        message=f"{flag} makes the pool on the host smaller than the one on the GPU ({what}); "
        f"{ends}",
        hint=f"{flag.split()[0]} {enough}",
    )
