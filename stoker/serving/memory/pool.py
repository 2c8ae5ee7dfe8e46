"""The KV pool of one rank from free memory and fraction: SGLang's own division, step by step."""

import math
from dataclasses import dataclass

from stoker.serving.checking.question import Question
from stoker.serving.memory import releases
from stoker.serving.memory.cells import Cell
from stoker.serving.memory.settings import Settings
from stoker.serving.memory.states import GIB, States, states

_FEWEST, _MOST = 2048, 4096
_PICTURES_GIB = 100 / 1024
_BESIDE_GIB = 0.09
"""What small buffers took beside the pools: the median of the recorded starts."""


@dataclass(frozen=True)
class Pool:
    """What is allocated on one rank, GiB unless said otherwise."""

    rest_gib: float
    """What the fraction leaves for states and KV cache; not above 0: SGLang does not start."""
    tokens: int
    """max_total_num_tokens; 0: it does not start."""
    most_tokens: int
    """Without --max-total-tokens."""
    kv_gib: float
    states: States | None
    table_gib: float
    """The table from requests to tokens; 0 where the context is not known."""
    requests: int
    """Running requests that the table is made for."""
    left_gib: float
    """Free after all of it."""

    @property
    def slack_gib(self) -> float:
        """What the pools leave, small tables not taken off: SGLang's `1 - mem_fraction_static`."""
        return self.left_gib + self.table_gib + _BESIDE_GIB


def pool(
    question: Question,
    settings: Settings,
    cell: Cell,
    memory: tuple[float, float, float],
    context: int | None,
) -> Pool | str:
    """The pool; or why it cannot be told.

    `memory`: GiB free before the weights, GiB free after them, and the fraction.
    """
    before, after, fraction = memory
    rest = after - before * (1 - fraction) - _pictures(question)
    if not math.isfinite(rest):
        return "a figure of the GPU's memory or of the weights is infinite"
    hybrid = question.model is not None and question.model.hybrid_mamba
    held = states(question, settings, max(rest, 0.0)) if hybrid else None
    if isinstance(held, str):
        return held
    budget = rest if held is None else min(rest, held.budget_left_gib)
    most = _pages(budget * GIB / (cell.planned + cell.workspace), settings.page)
    tokens = _pages(min(most, settings.token_cap or most), settings.page)
    return _filled(settings, cell, after, rest, (tokens, most), held, context)


def _filled(
    settings: Settings,
    cell: Cell,
    after: float,
    rest: float,
    tokens: tuple[int, int],
    held: States | None,
    context: int | None,
) -> Pool:
    kv = (tokens[0] + settings.page) * cell.built / GIB if tokens[0] else 0.0
    requests = _requests(settings, tokens[0], held, context)
    table = (requests + 1) * (context + 4 + settings.draft_tokens) * 4 / GIB if context else 0.0
    taken = kv + table + (held.gib + held.verify_gib if held else 0.0)
    return Pool(
        rest_gib=rest,
        tokens=tokens[0],
        most_tokens=tokens[1],
        kv_gib=kv,
        states=held,
        table_gib=table,
        requests=requests,
        left_gib=after - taken - _BESIDE_GIB,
    )


def _requests(settings: Settings, tokens: int, held: States | None, context: int | None) -> int:
    most = int(tokens / context * 512) if context else _FEWEST
    most = min(max(most, _FEWEST), _MOST)
    if settings.requests is not None:
        most = min(max(1, settings.requests // settings.dp), most)
    else:
        most = min(most, tokens // 2)
    if held is not None and held.slots is not None:
        most = min(most, held.slots // held.per_request)
    return most


def _pages(tokens: float, page: int) -> int:
    return max(0, int(tokens) // page * page)


def _pictures(question: Question) -> float:
    model = question.model
    sees = model is not None and model.multimodal
    return _PICTURES_GIB if sees and releases.has(question.sglang, "multimodal_set_aside") else 0.0
