"""What a server will have: tokens of KV cache, state slots, and what stays free on each GPU."""

import math
from dataclasses import dataclass

from stoker.serving.checking.question import Question
from stoker.serving.memory import cards, releases, words
from stoker.serving.memory.cells import Cell, aiter, cell
from stoker.serving.memory.logged import Logged
from stoker.serving.memory.pool import Pool, pool
from stoker.serving.memory.reserve import Reserve, default_fraction, reserve
from stoker.serving.memory.resident import draft_gib, draft_unknown, weights_gib
from stoker.serving.memory.settings import Settings, resolve
from stoker.serving.memory.states import GIB

_AITER_CONTEXT, _AITER_FACTOR = 8192, 0.85
_OTHERS = (0.1, 0.8)
"""GiB that communication and kernels' work space took after the pool, least and most, in logs."""
_GRAPHS = (0.1, 3.6)
"""GiB that graphs took in logs without speculation; with it up to `_DRAFT_GRAPHS`."""
_DRAFT_GRAPHS = 12.0


@dataclass(frozen=True)
class Prediction:
    """Of one rank."""

    settings: Settings
    cell: Cell
    pool: Pool
    draft_gib: float
    """What a draft model takes out of what the pool leaves."""
    fraction: float
    before_gib: float
    weights_gib: float
    reserve: Reserve
    estimated: bool
    """Whether the free memory was estimated from the kind of card."""
    logged: bool
    """Whether free memory before and after the weights is SGLang's own, so that it is exact."""
    context: int | None
    """The context the server will have, tokens."""
    draft_known: bool
    """False: there is a draft model whose weights nobody has looked at."""

    @property
    def starts(self) -> bool:
        """Whether there is room for any token."""
        return self.pool.tokens > 0

    @property
    def left_gib(self) -> float:
        """Free on the GPU once every pool stands, before graphs."""
        return self.pool.left_gib - self.draft_gib

    @property
    def after_graphs_gib(self) -> tuple[float, float]:
        """(least, most) GiB free once graphs are captured: a band seen in logs, not a sum."""
        most = _DRAFT_GRAPHS if self.settings.speculation else _GRAPHS[1]
        graphs = (_GRAPHS[0], most) if self.settings.graphs.decode else (0.0, 0.0)
        left = self.left_gib
        return left - _OTHERS[1] - graphs[1], left - _OTHERS[0] - graphs[0]

    @property
    def after_graphs(self) -> str:
        """The same in words, without a unit; below 0 there is nothing left."""
        least, most = (f"{max(0.0, gib):.1f}" for gib in self.after_graphs_gib)
        return f"{least} to {most}" if least != most else least

    @property
    def least_fraction(self) -> float:
        """Above this --mem-fraction-static the pool is larger than nothing."""
        return self.weights_gib / self.before_gib if self.before_gib > 0 else math.inf

    @property
    def sums(self) -> tuple[str, ...]:
        """The arithmetic, a line each."""
        free = f"{self.before_gib:.1f} GiB free" + (" (estimated)" if self.estimated else "")
        about = "" if self.logged else "about "
        rest = self.pool.rest_gib
        pool = (
            f"{free} x {self.fraction:.3f} - {about}{self.weights_gib:.1f} GiB of weights = "
            f"{rest:.1f} GiB for the pool of each GPU"
        )
        tokens = (
            f"{self.pool.kv_gib:.1f} GiB / {self.cell.built:,} bytes a token = "
            f"{about}{self.pool.tokens:,} tokens; {self.left_gib:.1f} GiB stay free"
        )
        held = self.pool.states
        if held is None:
            return pool, tokens
        slots = "slots" if held.slots is None else f"{held.slots} slots"
        return pool, f"{held.gib:.1f} GiB in {slots} of state", tokens


def predict(question: Question, logged: Logged | None = None) -> Prediction | None:
    """What the server will have; None: that cannot be told, and `worked_out` says why."""
    found = worked_out(question, logged)
    return None if isinstance(found, str) else found


def worked_out(question: Question, logged: Logged | None = None) -> Prediction | str:
    """What the server will have; or a sentence on why that cannot be told.

    `logged`: free memory before and after the weights as SGLang logged it, which makes it exact.
    Without it the free memory comes from the question, or from the kind of card.
    """
    settings = resolve(question)
    each = cell(question, settings)
    if isinstance(each, str):
        return each
    memory = _memory(question, settings, logged)
    if isinstance(memory, str):
        return memory
    filled = pool(question, settings, each, memory, _context(question, settings))
    if isinstance(filled, str):
        return filled
    known = logged is not None and logged.after_gib is not None
    return _predicted(question, settings, each, filled, memory, known)


def _predicted(
    question: Question,
    settings: Settings,
    each: Cell,
    filled: Pool,
    memory: tuple[float, float, float],
    logged: bool,
) -> Prediction:
    before, after, fraction = memory
    return Prediction(
        settings=settings,
        cell=each,
        pool=filled,
        draft_gib=_draft_taken(question, settings, each, filled.tokens),
        fraction=fraction,
        before_gib=before,
        weights_gib=before - after,
        reserve=reserve(settings, question.model),
        estimated=not logged and question.gpus.free_gib is None,
        logged=logged,
        context=_context(question, settings),
        draft_known=not draft_unknown(question, settings),
    )


def _context(question: Question, settings: Settings) -> int | None:
    return settings.context or (question.model.max_position if question.model else None)


def computes_on_gpu(question: Question) -> bool:
    """Whether the server uses a GPU at all."""
    on_cpu = words.env_on(question.env, "SGLANG_USE_CPU_ENGINE")
    return not on_cpu and words.text(question.parsed, "device", "cuda") != "cpu"


def fraction_of(question: Question, settings: Settings) -> float | None:
    """The fraction given, else SGLang's default; None: the default cannot be told."""
    fraction = settings.fraction
    if fraction is None:
        fraction = default_fraction(settings, question.model)
    return None if fraction is None else fraction * _aiter_factor(question, settings)


def _aiter_factor(question: Question, settings: Settings) -> float:
    # Of a context above 8192 tokens AMD's kernels keep 15 % of the fraction, even of a given one.
    context = _context(question, settings)
    honoured = (
        settings.fraction is not None
        and releases.has(settings.sglang, "aiter_honours_fraction")
        and words.env_on(question.env, "SGLANG_AITER_HONOR_EXPLICIT_MEM_FRACTION")
    )
    short = context is not None and context <= _AITER_CONTEXT
    return 1.0 if not aiter(question) or short or honoured else _AITER_FACTOR


def _memory(
    question: Question, settings: Settings, logged: Logged | None
) -> tuple[float, float, float] | str:
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


def _draft_taken(question: Question, settings: Settings, each: Cell, tokens: int) -> float:
    # Up to 0.5.13 a draft's weights too come out of what is left.
    loaded = releases.has(settings.sglang, "draft_loaded_before_pool")
    weights = 0.0 if loaded else draft_gib(question, settings)
    return each.draft * tokens / GIB + weights
