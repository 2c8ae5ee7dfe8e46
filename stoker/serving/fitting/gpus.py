"""Ranks against the GPUs that there are."""

from collections.abc import Iterator

from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.fitting import ranks


def check(question: Question) -> Iterator[Reason]:
    """tp_exceeds_gpus: SGLang gives rank n the GPU base + n * step (0.5.12
    entrypoints/engine.py:604)."""
    there = visible(question)
    if there is None or question.parsed.get("device") == "cpu":
        return
    of = ranks.of(question.parsed)
    base, step = (question.parsed.get(d, n) for d, n in (("base_gpu_id", 0), ("gpu_id_step", 1)))
    needed = base + (of.here - 1) * step + 1
    if needed <= there:
        return
    sizes = {"replicas": of.replicas, "tensor": of.tp, "pipeline": of.pp}
    product = " x ".join(f"{name} {size}" for name, size in sizes.items() if size > 1)
    rest = f", counted from GPU {base} in steps of {step}" if (base, step) != (0, 1) else ""
    yield Reason(
        "tp_exceeds_gpus",
        "refuse",
        f"{of.here} rank(s){f' ({product})' if product else ''} and {there} GPU(s) for them{rest}",
        f"lower --tp-size to fit {there} GPU(s), or give the server more of them",
    )


def visible(question: Question) -> int | None:
    """GPUs that the server sees; None: nobody knows."""
    if question.visible is not None:
        return question.visible
    count = question.gpus.count
    if "CUDA_VISIBLE_DEVICES" not in question.env:
        return count
    # CUDA stops at the first that is not there.
    listed = 0
    for name in question.env["CUDA_VISIBLE_DEVICES"].split(","):
        if not name.strip() or name.strip().startswith("-"):
            break
        if count is not None and name.strip().isdigit() and int(name) >= count:
            break
        listed += 1
    return listed
