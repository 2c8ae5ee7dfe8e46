"""The context that is asked for, against what the model and its draft were made for."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason

ALLOWED = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_YES = ("true", "1", "yes", "y")
"""What SGLang's EnvBool takes for yes (0.5.12 environ.py:119)."""
_LENGTHS = (
    "max_sequence_length",
    "seq_length",
    "max_seq_len",
    "model_max_length",
    "max_position_embeddings",
)
"""Keys of a configuration that say its length (0.5.12 utils/hf_transformers/common.py:365)."""
_SHARES_CONTEXT = ("EAGLE", "EAGLE3", "STANDALONE")


def check(question: Question) -> Iterator[Reason]:
    """context_too_long: the start ends with a ValueError (0.5.6 to 0.5.23
    configs/model_config.py, _derive_context_length), or with a warning where the environment
    allows it."""
    get = question.parsed.get
    asked, longest = get("context_length"), longest_of(question)
    allowed = _allowed(question.env)
    # A model whose positions are stretched by hand may well be right past its own limit.
    stretched = allowed and _override(get("json_model_override_args"))
    if asked and longest and asked > longest and not stretched:
        passed = f", and {ALLOWED} lets it pass: the output past them is not to be trusted"
        yield Reason(
            "context_too_long",
            "warn" if allowed else "refuse",
            f"--context-length {asked} is beyond the model's {longest} tokens"
            + (passed if allowed else ""),
            f"lower --context-length to {longest}",
        )
    yield from _draft(question, asked or longest)


def longest_of(question: Question) -> int | None:
    """Tokens that the model was made for, with `--json-model-override-args`; None: nobody knows."""
    longest = question.model.max_position if question.model else None
    changed = _override(question.parsed.get("json_model_override_args"))
    if not longest or not changed:
        return longest
    rope = changed.get("rope_scaling")
    if any(key in changed for key in (*_LENGTHS, "rope_parameters", "text_config")):
        return None
    if not isinstance(rope, dict):
        return None if "rope_scaling" in changed else longest
    factor = rope.get("factor", 1)
    # SGLang takes such a scaling for part of what the model says already.
    if "original_max_position_embeddings" in rope or rope.get("rope_type") == "llama3":
        factor = 1
    return int(longest * factor) if isinstance(factor, int | float) and factor >= 1 else None


def _override(text: Any) -> Mapping[str, Any]:
    try:
        data = json.loads(text) if text else {}
    except (TypeError, ValueError):
        return {"rope_parameters": None}
    return data if isinstance(data, dict) else {}


def _allowed(env: Mapping[str, str]) -> bool:
    return any(env.get(name, "").lower() in _YES for name in (ALLOWED, "SGLANG_IS_IN_CI"))


def _draft(question: Question, context: int | None) -> Iterator[Reason]:
    """A draft is made to take the target's context (sgl-project/sglang#9388, #18234)."""
    draft = question.draft.model if question.draft else None
    longest = draft.max_position if draft else None
    algorithm = str(question.parsed.get("speculative_algorithm")).upper()
    if not (context and longest and algorithm in _SHARES_CONTEXT) or context <= longest:
        return
    if not _allowed(question.env):
        yield Reason(
            "context_too_long",
            "refuse",
            f"the draft was made for {longest} tokens and would be given the server's {context}",
            f"lower --context-length to {longest}, use a draft made for more, or set {ALLOWED}=1",
        )
