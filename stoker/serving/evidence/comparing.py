"""Figures that no server is left with: by themselves, and beside the last evidence."""

from collections.abc import Iterator

from stoker.serving.evidence.fingerprint import Fingerprint
from stoker.serving.evidence.record import Figures, Ran, Record

FALL = 0.5
"""A throughput below this part of the last evidence's is a failure. The operators saw one good
server give 930 to 1350 tokens/s (0.69), and a bad one 236 of 1867 (0.13)."""
FALL_ON_CPU = 0.2
"""The same for a server on the processor, whose cores others use too."""
STARVED = 1 / 3
"""Where a thread of it waited so much of the time for a processor, the fall is not its own."""
DEAD_DRAFT = 1.05
"""An accept length up to this: every guess of the draft was wrong. A draft without its head serves
with 1.00 and no error (sgl-project/sglang#27908); one that fits gains more even on random text."""
FLOOR_GIB = 0.5
"""Free memory on a GPU that must be left at the peak. CUDA loads kernels and NCCL takes buffers
when they are first needed, so less is an out-of-memory error that waits for its day (INC3)."""


def faults(figures: Figures, drafted: bool) -> tuple[str, ...]:
    """What is wrong with figures whatever was measured before, a clause each.

    `drafted`: a draft model, or layers of the model's own, guess tokens ahead.
    """
    return tuple(_faults(figures, drafted))


def _faults(figures: Figures, drafted: bool) -> Iterator[str]:
    if figures.restarts:
        yield f"it restarted {figures.restarts} time(s) while it was measured"
    if figures.low_water_gib is not None and figures.low_water_gib < FLOOR_GIB:
        yield (
            f"the burst left {figures.low_water_gib:.2f} GiB free on a GPU, "
            f"less than the {FLOOR_GIB:.2f} that must stay; lower mem-fraction-static"
        )
    accepted = figures.accept_length
    if drafted and accepted is not None and accepted <= DEAD_DRAFT:
        yield (
            f"its accept length is {accepted:.2f}, so no guess of the draft was ever right "
            "(a draft that fits the model gains more); check the draft model's files"
        )


def falls(last: Record, now: Fingerprint, figures: Figures, ran: Ran) -> tuple[str, ...]:
    """Throughputs that fell far below the last evidence, a clause each with both figures.

    Only what was measured in the same way is compared; see `incomparable`.
    """
    if incomparable(last, now, figures, ran):
        return ()
    part = FALL_ON_CPU if now.on_cpu else FALL
    was, pairs = last.figures, []
    pairs.append(("in the burst", was.tokens_per_s, figures.tokens_per_s))
    if last.ran.bench == ran.bench:
        pairs.append(("by bench_serving", was.throughput, figures.throughput))
    return tuple(
        f"{new:.0f} tokens/s {what}, {new / old:.0%} of the {old:.0f} of {last.date:%Y-%m-%d}"
        for what, old, new in pairs
        if old and new is not None and new < part * old
    )


def incomparable(last: Record, now: Fingerprint, figures: Figures, ran: Ran) -> str:
    """Why the last evidence's throughput says nothing here; empty: it is compared."""
    then = last.fingerprint
    for what, old, new in (
        ("GPU", then.gpu, now.gpu),
        ("number of GPUs", then.gpus, now.gpus),
        ("model", then.model, now.model),
        ("burst", last.ran.burst, ran.burst),
    ):
        if old is not None and new is not None and old != new:
            return f"the evidence of {last.date:%Y-%m-%d} is of another {what}"
    if figures.waited is not None and figures.waited > STARVED:
        return f"it waited {figures.waited:.0%} of the time for a processor that others had"
    return ""
