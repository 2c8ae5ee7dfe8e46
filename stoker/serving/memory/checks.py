"""All that can be told of a server's memory before it starts: reasons, and what was left untold."""

from collections.abc import Iterator

from stoker.serving.checking.question import OtherServer, Question
from stoker.serving.checking.reason import Reason
from stoker.serving.memory import fraction, host, limits, room
from stoker.serving.memory.hostpool import HostPool, host_pool
from stoker.serving.memory.prediction import Prediction, computes_on_gpu, worked_out
from stoker.serving.memory.rest import rest
from stoker.serving.memory.settings import Settings, resolve


def check(
    question: Question, others: tuple[OtherServer, ...] | None = None
) -> tuple[tuple[Reason, ...], tuple[str, ...]]:
    """(reasons, notes). `others`: servers beside this one; None: those of the question.

    A fact that nobody knows gives no reason, and where it matters a note on what was not told.
    """
    settings = resolve(question)
    on_gpu = computes_on_gpu(question)
    prediction = worked_out(question) if on_gpu else "the server computes on the CPU"
    pool = host_pool(question, settings, prediction)
    reasons: list[Reason] = []
    if isinstance(pool, HostPool):
        beside = question.others if others is None else others
        reasons += host.check(question, settings, prediction, pool, beside)
        reasons += limits.memlock(question, pool)
    reasons += limits.shm(question, settings)
    if wrong := tuple(fraction.impossible(settings)):
        return (*wrong, *reasons), ()
    beside_weights = rest(question, settings) if on_gpu else None
    reasons += room.check(settings, prediction, beside_weights)
    if not on_gpu:
        return tuple(reasons), ()
    reasons += fraction.check(question, settings, prediction, beside_weights)
    return tuple(reasons), tuple(_notes(question, settings, prediction, pool))


def host_gb(question: Question) -> float | None:
    """Host memory that the server wants, GB, for those beside it; None: cannot be told."""
    settings = resolve(question)
    prediction = worked_out(question)
    pool = host_pool(question, settings, prediction)
    return None if isinstance(pool, str) else host.wanted_gb(question, settings, pool)


def _notes(
    question: Question,
    settings: Settings,
    prediction: Prediction | str,
    pool: HostPool | str | None,
) -> Iterator[str]:
    if isinstance(prediction, str):
        what = "how many tokens the KV pool will hold"
        if not fraction.judged(question, settings, prediction):
            what += ", and whether --mem-fraction-static leaves enough,"
        yield f"{what} cannot be told: {prediction}"
    elif prediction.starts:
        yield told(prediction)
    if isinstance(pool, str):
        yield f"whether host memory suffices cannot be told: {pool}"
    elif pool is not None and host.limit_gb(question) is None:
        yield "whether host memory suffices cannot be told: how much there is is not known"


def told(prediction: Prediction) -> str:
    """What is predicted of a pool that there will be, as one line."""
    about = "" if prediction.logged else "about "
    return (
        f"predicted: {about}{prediction.pool.tokens:,} tokens of KV cache, "
        f"{prediction.left_gib:.1f} GiB of each GPU free beside it, {prediction.after_graphs} "
        f"after the graphs{_less(prediction)}"
    )


def _less(prediction: Prediction) -> str:
    draft = "" if prediction.draft_known else ", the draft model not counted"
    if prediction.settings.dp == 1 or prediction.logged:
        return draft
    return f"{draft}; less, as each group of data-parallel attention has weights of its own"
