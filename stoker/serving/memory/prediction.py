"""What a server will have: tokens of KV cache, state slots, and what stays free on each GPU."""

from dataclasses import dataclass

from stoker.serving.checking.question import Question
from stoker.serving.memory import releases, words
from stoker.serving.memory.cells import Cell, cell
from stoker.serving.memory.logged import Logged
from stoker.serving.memory.pool import Pool, pool
from stoker.serving.memory.reserve import Reserve, reserve
from stoker.serving.memory.resident import draft_gib, draft_unknown
from stoker.serving.memory.rest import Rest, context_of, memory
from stoker.serving.memory.settings import Settings, resolve
from stoker.serving.memory.states import GIB

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
    def rest(self) -> Rest:
        """What the fraction leaves beside the weights."""
        return Rest(self.before_gib, self.weights_gib, self.fraction, self.estimated)

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
    found = memory(question, settings, logged)
    if isinstance(found, str):
        return found
    filled = pool(question, settings, each, found, context_of(question, settings))
    if isinstance(filled, str):
        return filled
    known = logged is not None and logged.after_gib is not None
    return _predicted(question, settings, each, filled, found, known)


def _predicted(
    question: Question,
    settings: Settings,
    each: Cell,
    filled: Pool,
    found: tuple[float, float, float],
    logged: bool,
) -> Prediction:
    before, after, fraction = found
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
        context=context_of(question, settings),
        draft_known=not draft_unknown(question, settings),
    )


def computes_on_gpu(question: Question) -> bool:
    """Whether the server uses a GPU at all."""
    on_cpu = words.env_on(question.env, "SGLANG_USE_CPU_ENGINE")
    return not on_cpu and words.text(question.parsed, "device", "cuda") != "cpu"


def _draft_taken(question: Question, settings: Settings, each: Cell, tokens: int) -> float:
    # Up to 0.5.13 a draft's weights too come out of what is left.
    loaded = releases.has(settings.sglang, "draft_loaded_before_pool")
    weights = 0.0 if loaded else draft_gib(question, settings)
    return each.draft * tokens / GIB + weights
