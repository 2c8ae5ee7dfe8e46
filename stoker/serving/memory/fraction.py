"""Does --mem-fraction-static leave enough for a large prefill and for graphs?

The measure is what SGLang itself would leave (`reserve`), taken of the whole card as SGLang does.
Less than that is a warning; less than `REFUSED` of it, without its guesses for draft models
and for data-parallel attention, has died in the first large prefill (INC3), and is refused,
unless the weights ask for it.
"""

import math
from collections.abc import Iterator

from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.memory import cards, words
from stoker.serving.memory.prediction import Prediction
from stoker.serving.memory.reserve import Reserve, reserve
from stoker.serving.memory.rest import Rest, fraction_of
from stoker.serving.memory.settings import Settings

REFUSED = 0.7
"""Of the reserve: less than this is refused."""


def check(
    question: Question,
    settings: Settings,
    prediction: Prediction | str,
    rest: Rest | None = None,
) -> Iterator[Reason]:
    """The reason `mem_fraction_high`, if the command line names a fraction that is too high."""
    left = _left(question, settings, prediction)
    total = settings.memory_mib
    free = cards.free_gib(question.gpus, settings.ranks_here)
    if left is None or total is None or free is None:
        return
    wanted = reserve(settings, question.model)
    part = min(1.0, free[0] * 1024 / total)
    if left >= wanted.mib / 1024 * part - 0.005:
        return
    least = REFUSED * wanted.sure_mib / 1024 * part
    refused = left < least and not _forced(rest, least)
    yield Reason(
        name="mem_fraction_high",
        severity="refuse" if refused else "warn",
        message=_message(settings, left, wanted, part, refused),
        hint=_hint(settings, wanted, prediction, free[0]),
        sums=_sums(settings, prediction, free[0], left, wanted),
    )


def impossible(settings: Settings) -> Iterator[Reason]:
    """The reason `flag_bad_value` for a fraction that is none; the parser takes any number."""
    fraction = settings.fraction
    if fraction is not None and not 0 < fraction <= 1:
        yield Reason(
            name="flag_bad_value",
            severity="refuse",
            message=f"--mem-fraction-static {fraction:g} is no part of a GPU's memory: it lies "
            "between 0 and 1",
            hint="a figure such as 0.88",
        )


def _forced(rest: Rest | None, least: float) -> bool:
    """Whether any fraction that is not refused would leave the weights no pool beside them."""
    return rest is not None and rest.before_gib - least <= rest.weights_gib


def judged(question: Question, settings: Settings, prediction: Prediction | str) -> bool:
    """Whether the fraction can be judged; of none, and of one without any pool, there is nothing
    to judge."""
    nothing = settings.fraction is None or not isinstance(prediction, str)
    return nothing or _left(question, settings, prediction) is not None


def _left(question: Question, settings: Settings, prediction: Prediction | str) -> float | None:
    # GiB beside the pool. A pool that --max-total-tokens caps leaves more than the fraction says,
    # one that is built larger than planned leaves less.
    if settings.fraction is None:
        return None
    if not isinstance(prediction, str):
        return prediction.pool.slack_gib if prediction.starts else None
    fraction = fraction_of(question, settings)
    free = cards.free_gib(question.gpus, settings.ranks_here)
    sized_late = words.env_on(question.env, "SGLANG_ENABLE_POST_CAPTURE_KV_SIZING")
    if settings.token_cap is not None or sized_late or free is None or fraction is None:
        return None
    return free[0] * (1 - fraction)


def _message(settings: Settings, left: float, wanted: Reserve, part: float, refused: bool) -> str:
    what = "a large prefill is likely to " if refused else "a large prefill may "
    return (
        f"--mem-fraction-static {settings.fraction:g} leaves {left:.1f} GiB of each GPU beside "
        f"weights and KV pool, where SGLang's own default leaves {wanted.mib / 1024 * part:.1f} "
        f"GiB for prefill and graphs; {what}run out of memory"
    )


def _hint(settings: Settings, wanted: Reserve, prediction: Prediction | str, free: float) -> str:
    # Without the factor for a model's vision part, which is not in this measure.
    own = 1 - wanted.mib / (settings.memory_mib or math.inf)
    if isinstance(prediction, str):
        return "lower it, or leave it out: SGLang then takes its own"
    if own > prediction.rest.least_fraction:
        return f"{math.floor(own * 100) / 100:g} is SGLang's own default here; use that or less"
    return (
        f"more GPUs or smaller weights: at SGLang's own {own:.3f} the {prediction.weights_gib:.1f} "
        f"GiB of weights leave no room for a KV pool in {free:.1f} GiB; or cut "
        "--chunked-prefill-size and --max-total-tokens"
    )


def _sums(
    settings: Settings, prediction: Prediction | str, free: float, left: float, wanted: Reserve
) -> tuple[str, ...]:
    asked = settings.fraction or 0.0
    plain = free * (1 - asked)
    other = f"; {left:.1f} GiB, as the pool is not built to that size"
    sums = (
        f"{free:.1f} GiB free x (1 - {asked:g}) = {plain:.1f} GiB"
        + (other if abs(left - plain) > 0.05 else ""),
        wanted.sum,
        f"refused below {REFUSED:g} x {wanted.sure_mib:,.0f} MiB",
    )
    if isinstance(prediction, str):
        return sums
    return *sums, f"{prediction.after_graphs} GiB after the graphs, as far as logs of starts tell"
