"""CUDA graphs as SGLang plans them: for which batches, and whether at all."""

from dataclasses import dataclass

from stoker.serving.checking.question import Question
from stoker.serving.memory import prefill_graphs, releases, words

# (below so many MiB, chunk, graphs for so many requests at tp < 4, and from 4 on)
_CLASSES = (
    (20 * 1024, 2048, 8, 8),
    (35 * 1024, 2048, 24, 80),
    (60 * 1024, 4096, 32, 160),
    (160 * 1024, 8192, 256, 512),
)
_LARGEST = (0, 16384, 512, 512)
_MIDDLE_SINCE_0_5_20 = (35 * 1024, 4096, 48, 160)
_UNKNOWN = (0, 4096, 160, 160)


@dataclass(frozen=True)
class Graphs:
    """What a server captures."""

    decode: bool
    requests: int
    """The largest batch that a decode graph is captured for."""
    prefill: int
    """How many prefill (piecewise) graphs; 0: none. Of 0.5.6 what its reserve counts as many."""


def planned(question: Question, memory_mib: int | None, chunk: int) -> Graphs:
    """The graphs of a server on a card of so much memory."""
    return Graphs(
        decode=_decode_on(question),
        requests=_largest_batch(question, memory_mib),
        prefill=_prefill_count(question, chunk),
    )


def default_chunk(sglang: str, memory_mib: int | None) -> int:
    """--chunked-prefill-size where it is not given, by the card's memory; tokens."""
    return _class(sglang, memory_mib)[1]


def _largest_batch(question: Question, memory_mib: int | None) -> int:
    parsed = question.parsed
    requests = words.whole(parsed, "max_running_requests")
    listed = words.several(parsed, "cuda_graph_bs", "cuda_graph_bs_decode")
    given = words.whole(parsed, "cuda_graph_max_bs", "cuda_graph_max_bs_decode")
    if listed or given is not None:
        return max(listed) if listed else given or 0
    few = (words.whole(parsed, "tp_size") or 1) < 4
    default = _class(question.sglang, memory_mib)[2 if few else 3]
    if requests and releases.has(question.sglang, "graphs_capped_by_requests"):
        return min(default, requests)
    return default


_MOST_TOKENS = 1 << 20
"""Of a prefill graph: no machine has room for a larger one."""


def _decode_on(question: Question) -> bool:
    parsed = question.parsed
    if asked := words.text(parsed, "cuda_graph_backend_decode"):
        return asked != "disabled"
    role = words.text(parsed, "disaggregation_mode")
    if role == "prefill" and releases.has(question.sglang, "roles_counted"):
        return False
    return not words.on(parsed, "disable_cuda_graph", "disable_decode_cuda_graph")


def _prefill_count(question: Question, chunk: int) -> int:
    if not prefill_graphs.on(question):
        return 0
    parsed = question.parsed
    listed = words.several(parsed, "piecewise_cuda_graph_tokens", "cuda_graph_bs_prefill")
    if listed:
        return len(listed)
    given = words.whole(parsed, "piecewise_cuda_graph_max_tokens", "cuda_graph_max_bs_prefill")
    if releases.has(question.sglang, "prefill_graphs_quarter"):
        return (given or 4096) // 32
    deepep = words.text(parsed, "moe_a2a_backend") == "deepep"
    if deepep and releases.has(question.sglang, "deepep_prefill_graphs"):
        return len({-(-size // 8) for size in _prefill_sizes(given or 2048)})
    most = given or _prefill_tokens(question, chunk)
    cap = words.whole(parsed, "max_total_tokens")
    return len(_prefill_sizes(min(most, cap or most)))


def _prefill_tokens(question: Question, chunk: int) -> int:
    if question.model is not None and question.model.mla:
        return 2048
    piped = (words.whole(question.parsed, "pp_size") or 1) > 1
    capped = piped and releases.has(question.sglang, "pipeline_graphs_8192")
    return min(chunk, 8192) if capped else chunk


def _prefill_sizes(most: int) -> tuple[int, ...]:
    most = min(most, _MOST_TOKENS)
    steps = ((4, 33, 4), (48, 257, 16), (288, 513, 32), (576, 1025, 64), (1280, 4097, 256))
    sizes = (size for step in (*steps, (4608, most + 1, 512)) for size in range(*step))
    return tuple(size for size in sizes if size <= most)


def _class(sglang: str, memory_mib: int | None) -> tuple[int, int, int, int]:
    if memory_mib is None:
        return _UNKNOWN
    row = next((row for row in _CLASSES if memory_mib < row[0]), _LARGEST)
    if row[0] == _MIDDLE_SINCE_0_5_20[0] and releases.has(sglang, "middle_class_4096"):
        return _MIDDLE_SINCE_0_5_20
    return row
