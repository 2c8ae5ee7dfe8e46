"""A reasoning parser, and a tokenizer that cannot say where the reasoning ends."""

from collections.abc import Iterator

from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.versions import within

ENDS_WITH_THINK = frozenset(
    (
        "deepseek-r1",
        "deepseek-v3",
        "deepseek-v4",
        "glm45",
        "hunyuan",
        "interns1",
        "kimi_k2",
        "mimo",
        "minimax",
        "minimax-append-think",
        "nemotron_3",
        "poolside_v1",
        "qwen3",
        "qwen3-thinking",
        "step3",
        "step3p5",
    )
)
"""Parsers whose reasoning ends with `</think>`; kimi, gpt-oss, mistral and gemma4 have marks of
their own (0.5.12 parser/reasoning_parser.py)."""


def check(question: Question) -> Iterator[Reason]:
    """parser_tokenizer_mismatch.

    From 0.5.12 to 0.5.16 the grammar backend wants `</think>` as one token and the start ends with
    a ValueError (measured; constrained/reasoner_grammar_backend.py:236). Before, only its first
    token counted; since, it may be several. Without a grammar backend nobody asks.
    """
    get, files = question.parsed.get, question.files
    parser, tokens = get("reasoning_parser"), files.think_end_tokens if files else None
    if parser not in ENDS_WITH_THINK or tokens in (None, 1):
        return
    if get("grammar_backend") == "none" or get("skip_tokenizer_init"):
        return
    if within(question.sglang, ">=0.5.12,<0.5.17"):
        yield Reason(
            "parser_tokenizer_mismatch",
            "refuse",
            f"--reasoning-parser {parser} needs </think> as one token, and this tokenizer makes"
            f" {tokens} of it",
            "remove --reasoning-parser, or use the tokenizer that the model was made with",
        )
