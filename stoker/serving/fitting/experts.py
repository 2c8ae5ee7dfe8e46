"""Expert-parallel ranks, which are some of the tensor-parallel ones.

SGLang cuts the tensor-parallel ranks into groups of `--ep-size` (0.5.12 distributed/
parallel_state.py:1938); ranks that are left over are in no group, and the start ends there.
"""

from collections.abc import Iterator

from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.fitting import ranks


def check(question: Question) -> Iterator[Reason]:
    """flags_conflict where `--ep-size` does not divide `--tp-size`."""
    experts, tp = question.parsed.get("ep_size", 1), ranks.of(question.parsed).tp
    if "ep_size" in question.parsed.given and type(experts) is int and experts > 1 and tp % experts:
        yield Reason(
            "flags_conflict",
            "refuse",
            f"--ep-size {experts} does not divide the {tp} tensor-parallel ranks",
            f"choose an --ep-size that divides {tp}",
        )
