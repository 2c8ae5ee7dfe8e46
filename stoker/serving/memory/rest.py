"""What the fraction leaves beside the weights, whatever a pool would be made of."""

import math
from dataclasses import dataclass

from stoker.serving.checking.question import Question
from stoker.serving.memory import cards, releases, words
from stoker.serving.memory.cells import aiter
from stoker.serving.memory.logged import Logged
from stoker.serving.memory.reserve import default_fraction
from stoker.serving.memory.resident import weights_gib
from stoker.serving.memory.settings import Settings

_AITER_CONTEXT, _AITER_FACTOR = 8192, 0.85


@dataclass(frozen=True)
class Rest:
    """Of one rank, GiB."""

    before_gib: float
    """Free before the weights."""
    weights_gib: float
    fraction: float
    estimated: bool
    """Whether the free memory was estimated from the kind of card."""

    @property
    def gib(self) -> float:
        """For states and KV cache; not above 0: SGLang does not start."""
        return self.before_gib * self.fraction - self.weights_gib

    @property
    def least_fraction(self) -> float:
        """Above this --mem-fraction-static there is room for something."""
        return self.weights_gib / self.before_gib if self.before_gib > 0 else math.inf

    @property
    def sums(self) -> tuple[str, ...]:
        """The arithmetic, one line."""
        free = f"{self.before_gib:.1f} GiB free" + (" (estimated)" if self.estimated else "")
        return (
            f"{free} x {self.fraction:.3f} - about {self.weights_gib:.1f} GiB of weights = "
            f"{self.gib:.1f} GiB for the pool of each GPU",
        )


def rest(question: Question, settings: Settings, logged: Logged | None = None) -> Rest | None:
    """None: the free memory, the weights or the fraction cannot be told."""
    found = memory(question, settings, logged)
    if isinstance(found, str):
        return None
    before, after, fraction = found
    estimated = logged is None and question.gpus.free_gib is None
    return Rest(before, before - after, fraction, estimated)


def memory(
    question: Question, settings: Settings, logged: Logged | None
) -> tuple[float, float, float] | str:
    """GiB free before the weights and after them, and the fraction; or why that cannot be told."""
    if words.env_on(question.env, "SGLANG_ENABLE_POST_CAPTURE_KV_SIZING"):
        return "the pool is sized after the graphs are captured"
    fraction = fraction_of(question, settings)
    if fraction is None:
        return "SGLang's default --mem-fraction-static depends on the model's vision part"
    if logged is not None and logged.before_gib is not None and logged.after_gib is not None:
        return logged.before_gib, logged.after_gib, fraction
    free = cards.free_gib(question.gpus, settings.ranks_here)
    if free is None:
        return "the GPU's memory is not known"
    weights = weights_gib(question, settings)
    if isinstance(weights, str):
        return weights
    return free[0], free[0] - weights, fraction


def fraction_of(question: Question, settings: Settings) -> float | None:
    """The fraction given, else SGLang's default; None: the default cannot be told."""
    fraction = settings.fraction
    if fraction is None:
        fraction = default_fraction(settings, question.model)
    return None if fraction is None else fraction * _aiter_factor(question, settings)


def _aiter_factor(question: Question, settings: Settings) -> float:
    # Of a context above 8192 tokens AMD's kernels keep 15 % of the fraction, even of a given one.
    context = context_of(question, settings)
    honoured = (
        settings.fraction is not None
        and releases.has(settings.sglang, "aiter_honours_fraction")
        and words.env_on(question.env, "SGLANG_AITER_HONOR_EXPLICIT_MEM_FRACTION")
    )
    short = context is not None and context <= _AITER_CONTEXT
    return 1.0 if not aiter(question) or short or honoured else _AITER_FACTOR


def context_of(question: Question, settings: Settings) -> int | None:
    """The context the server will have, tokens; None: unknown."""
    return settings.context or (question.model.max_position if question.model else None)
