"""A chunk of prefill against the pages that the KV cache is cut into."""

from collections.abc import Iterator

from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason


def check(question: Question) -> Iterator[Reason]:
    """flags_conflict where both are given and the chunk is no whole number of pages (an assertion
    in every package from 0.5.6 to 0.5.23, 0.5.12 server_args.py:7288)."""
    given, get = question.parsed.given, question.parsed.get
    if not {"chunked_prefill_size", "page_size"} <= given or get("disaggregation_mode") == "decode":
        return
    chunk, page = get("chunked_prefill_size"), get("page_size")
    if type(chunk) is int and type(page) is int and chunk > 0 and page > 0 and chunk % page:
        yield Reason(
            "flags_conflict",
            "refuse",
            f"--chunked-prefill-size {chunk} is no whole number of pages of {page} tokens",
            f"use --chunked-prefill-size {max(page, chunk - chunk % page)}",
        )
