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
        f"{_many(of.here, 'rank')}{f' ({product})' if product else ''} want a GPU each{rest}, and"
        f" the server has {_many(there, 'GPU')}",
        f"lower --tp-size to fit {_many(there, 'GPU')}, or give the server more of them"
        if there
        else "name GPUs in CUDA_VISIBLE_DEVICES that the container has",
    )


def visible(question: Question) -> int | None:
    """GPUs that the server sees, of those it is given and those there are; None: nobody knows."""
    named = question.env.get("CUDA_VISIBLE_DEVICES")
    count = question.gpus.count
    seen = count if named is None else _listed(named, count)
    known = [limit for limit in (question.visible, seen) if limit is not None]
    return min(known, default=None)


def _listed(names: str, count: int | None) -> int:
    """CUDA stops at the first that is not there."""
    listed = 0
    for name in map(str.strip, names.split(",")):
        absent = count is not None and name.isdigit() and int(name) >= count
        if not name or name.startswith("-") or absent:
            break
        listed += 1
    return listed


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
