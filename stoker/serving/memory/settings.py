"""What a command line means for memory, with the defaults that SGLang would fill in."""

from dataclasses import dataclass

from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.checking.question import Question
from stoker.serving.memory import cards, words
from stoker.serving.memory.graphs import Graphs, default_chunk, planned

_SPECULATION_REQUESTS = 48
"""Running requests that SGLang sets when it speculates and none are given."""


@dataclass(frozen=True)
class Settings:
    """Resolved options of one server. None: not given, and there is no default to know."""

    tp: int
    pp: int
    dp: int
    """Data-parallel attention groups inside tensor parallel; 1: none."""
    replicas: int
    """Whole copies of the server (--dp-size without data-parallel attention)."""
    nodes: int
    sglang: str
    memory_mib: int | None
    """Of one card, all of it."""
    chunk: int
    """Tokens computed at once, by which the reserve goes: --chunked-prefill-size or its default."""
    role: str
    """Of disaggregation: null, prefill or decode."""
    deepep: bool
    graphs: Graphs
    fraction: float | None
    """--mem-fraction-static as given."""
    token_cap: int | None
    """--max-total-tokens."""
    context: int | None
    """--context-length as given."""
    requests: int | None
    """--max-running-requests, or what speculation sets."""
    page: int
    speculation: str
    """The algorithm, upper case; empty: none."""
    draft_tokens: int
    """Tokens verified at once; 0: no speculation, or nobody knows."""

    @property
    def attention_tp(self) -> int:
        """Ranks that share one attention layer's heads."""
        return max(1, self.tp // self.dp)

    @property
    def ranks(self) -> int:
        """Processes with a GPU, on all nodes."""
        return self.tp * self.pp * self.replicas

    @property
    def ranks_here(self) -> int:
        """Those on one node."""
        return max(1, self.ranks // self.nodes)


def resolve(question: Question) -> Settings:
    """The settings of the server asked about."""
    parsed = question.parsed
    memory = cards.memory_mib(question.gpus)
    chunk = words.whole(parsed, "chunked_prefill_size") or default_chunk(question.sglang, memory)
    return Settings(
        *_parallel(parsed),
        sglang=question.sglang,
        memory_mib=memory,
        chunk=chunk if chunk > 0 else words.whole(parsed, "max_prefill_tokens") or 16384,
        role=words.text(parsed, "disaggregation_mode", "null"),
        deepep=words.text(parsed, "moe_a2a_backend") == "deepep",
        graphs=planned(question, memory, chunk),
        fraction=_fraction(parsed),
        token_cap=words.whole(parsed, "max_total_tokens"),
        context=words.whole(parsed, "context_length"),
        requests=_requests(question),
        page=page(question),
        speculation=words.text(parsed, "speculative_algorithm").upper(),
        draft_tokens=_draft_tokens(question),
    )


def _fraction(parsed: Parsed) -> float | None:
    given = words.real(parsed, "mem_fraction_static")
    # A typing mistake of any size is too high.
    return None if given is None else min(given, 100.0)


def _ranks(parsed: Parsed, dest: str) -> int:
    """At least 1, and not more than any machine has."""
    return min(max(words.whole(parsed, dest) or 1, 1), 4096)


def _parallel(parsed: Parsed) -> tuple[int, int, int, int, int]:
    dp = words.whole(parsed, "dp_size") or 1
    attention = dp > 1 and words.on(parsed, "enable_dp_attention")
    return (
        _ranks(parsed, "tp_size"),
        _ranks(parsed, "pp_size"),
        dp if attention else 1,
        1 if attention else dp,
        words.whole(parsed, "nnodes") or 1,
    )


def page(question: Question) -> int:
    """Tokens of a page: as given, 64 for sparse attention (DSA), else 1."""
    given = words.whole(question.parsed, "page_size")
    sparse = question.model is not None and question.model.index_head_dim is not None
    return 64 if sparse and not cards.is_amd(question.gpus) else given or 1


def _requests(question: Question) -> int | None:
    given = words.whole(question.parsed, "max_running_requests")
    speculates = words.on(question.parsed, "speculative_algorithm")
    return given or (_SPECULATION_REQUESTS if speculates else None)


def _draft_tokens(question: Question) -> int:
    parsed = question.parsed
    if not words.on(parsed, "speculative_algorithm"):
        return 0
    steps = words.whole(parsed, "speculative_num_steps")
    if words.whole(parsed, "speculative_eagle_topk") == 1 and steps:
        return steps + 1
    return words.whole(parsed, "speculative_num_draft_tokens") or 0
