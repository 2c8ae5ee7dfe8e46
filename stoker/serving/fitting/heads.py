"""Attention heads over ranks.

Every model class asserts that its heads divide by the ranks. KV heads are cut where there are at
least as many as ranks, else each is kept by several ranks, and both only where it comes out even
(0.5.12 models/llama.py:146, models/qwen3_moe.py:468, models/deepseek_v2.py:1358). On the CPU odd
heads are padded (configs/update_config.py), so nothing is said there.
"""

from collections.abc import Iterator

from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.fitting import ranks

_MOST_RANKS = 1025
"""More than any machine has: what somebody mistyped is not counted down to."""


def check(question: Question) -> Iterator[Reason]:
    """tp_heads, or dp_attention where the ranks do not divide into attention groups."""
    of, model = ranks.of(question.parsed), question.model
    if question.parsed.get("device") == "cpu":
        return
    groups = of.attention_dp * of.attention_cp
    if of.tp % groups:
        yield Reason(
            "dp_attention",
            "refuse",
            f"{of.tp} tensor-parallel ranks do not divide into {groups} attention groups",
            "choose sizes that divide --tp-size",
        )
    elif model and (wrong := _wrong(model, of.attention, _replicated(question))):
        fewer = range(1, min(of.attention, _MOST_RANKS))
        fits = max(n for n in fewer if not _wrong(model, n, False)) * groups
        yield Reason(
            "tp_heads",
            "refuse",
            f"{wrong} cannot be shared evenly by {of.attention} ranks",
            f"choose a --tp-size that divides, such as {fits}",
        )


def _replicated(question: Question) -> bool:
    """Decode context parallelism cuts KV heads over fewer ranks (0.5.23 get_num_kv_heads)."""
    value = question.parsed.get("dcp_size", 1)
    return isinstance(value, int) and value > 1


def _wrong(model: Model, ranks: int, replicated: bool) -> str:
    heads, kv_heads = model.heads, model.kv_heads
    if heads and heads % ranks:
        return f"{heads} attention heads"
    if kv_heads and not model.mla and not replicated:
        many, few = max(kv_heads, ranks), min(kv_heads, ranks)
        return f"{kv_heads} KV heads" if many % few else ""
    return ""
