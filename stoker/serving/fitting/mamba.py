"""A strategy for keeping states, on a model that has none."""

import re
from collections.abc import Iterator

from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.versions import within

_STATES = re.compile(
    "Mamba|Next|Qwen3_5|Qwen4|NemotronH|FalconH|Jamba|Hybrid|Linear|Lfm2|Lightning|MiniMaxText"
    "|Zaya|Inkling|Bamba|Zamba|RWKV|InternS2|BailingMoeV[23]|KimiK3"
)
"""Architectures whose names speak of a state; of them only the model's own files can tell."""


def check(question: Question) -> Iterator[Reason]:
    """mamba_on_non_mamba, for the extra_buffer strategies; no_buffer and auto harm nobody.

    Up to 0.5.20 the server starts and the first prefill reads a state that is not there (measured
    on 0.5.12, managers/schedule_batch.py:1846); from 0.5.21 on the start is refused (arg_groups/
    model_hook.py). From 0.5.14 on the strategy does not count without a radix cache.
    """
    get = question.parsed.get
    strategy = get("mamba_radix_cache_strategy") or get("mamba_scheduler_strategy")
    if not str(strategy).startswith("extra_buffer") or not (arch := _without_states(question)):
        return
    if get("disable_radix_cache") and within(question.sglang, ">=0.5.14"):
        return
    late = within(question.sglang, "<0.5.21")
    end = "starts and dies at the first request" if late else "is refused at the start"
    name = "scheduler" if _old_name(question) else "radix-cache"
    yield Reason(
        "mamba_on_non_mamba",
        "refuse",
        f"{strategy} keeps states between requests, and {arch} has none: the server {end}",
        f"remove --mamba-{name}-strategy",
    )


def _without_states(question: Question) -> str:
    """The architecture, if it is known to have none."""
    model = question.model
    if model is None or model.hybrid_mamba or not model.arch or _STATES.search(model.arch):
        return ""
    return model.arch


def _old_name(question: Question) -> bool:
    return any(word.startswith("--mamba-scheduler") for word in question.words)
