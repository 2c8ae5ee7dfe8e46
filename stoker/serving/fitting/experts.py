"""Expert-parallel ranks, which are some of the tensor-parallel ones.

SGLang cuts the tensor-parallel ranks into groups of `--ep-size` (0.5.12 distributed/
parallel_state.py:1938); ranks that are left over are in no group, and the start ends there.
An all-to-all backend, and the context parallelism that chooses one, put the number of
tensor-parallel ranks in its place (0.5.12 server_args.py:3207, 0.5.23 overrides.py:1595).
"""

from collections.abc import Iterator

from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.fitting import ranks


def check(question: Question) -> Iterator[Reason]:
    """flags_conflict where `--ep-size` does not divide `--tp-size`, and is the size that counts."""
    experts, tp = question.parsed.get("ep_size", 1), ranks.of(question.parsed).tp
    asked = "ep_size" in question.parsed.given and not _replaced(question.parsed)
    if asked and type(experts) is int and experts > 1 and tp % experts:
        yield Reason(
            "flags_conflict",
            "refuse",
            f"--ep-size {experts} does not divide the {tp} tensor-parallel ranks",
            f"choose an --ep-size that divides {tp}",
        )


def _replaced(parsed: Parsed) -> bool:
    """Whether SGLang may put another size in its place."""
    backend: bool = parsed.get("moe_a2a_backend") not in (None, "none")
    return backend or any(
        value is True or (type(value) is int and value > 1)
        for dest, value in parsed.values.items()
        if dest == "enable_waterfill"
        or dest.endswith(("context_parallel", "prefill_cp", "cp_size"))
    )
