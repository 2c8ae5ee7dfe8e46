"""Is there a KV pool at all, and does it hold one context?"""

import math
from collections.abc import Iterator
from dataclasses import replace

from stoker.serving.checking.reason import Reason
from stoker.serving.memory.prediction import Prediction
from stoker.serving.memory.rest import Rest
from stoker.serving.memory.settings import Settings
from stoker.serving.memory.states import GIB

_SURE = 0.95
"""A prediction from static facts is off by less than this; nearer than that is not judged."""
_DOUBT_GIB = 0.5
"""So much may an estimate of free memory and of weights be wrong."""


def check(
    settings: Settings, prediction: Prediction | str, rest: Rest | None = None
) -> Iterator[Reason]:
    """The reasons `kv_pool_small` and `context_exceeds_kv`. `rest`: where nothing is predicted."""
    cap, context = settings.token_cap, settings.context
    if cap is not None and context is not None and cap < context:
        yield _capped(cap, context)
    if isinstance(prediction, str):
        if rest is not None and rest.gib <= 0:
            yield _nothing(rest)
        return
    if not prediction.starts and prediction.pool.rest_gib > 0:
        yield _states(prediction)
    elif not prediction.starts:
        yield _none(prediction)
    elif _no_request(prediction):
        yield _no_slots(prediction)
    elif not (cap is not None and prediction.pool.tokens < prediction.pool.most_tokens):
        yield from _short(prediction)


def _capped(cap: int, context: int) -> Reason:
    return Reason(
        name="context_exceeds_kv",
        severity="warn",
        message=f"--max-total-tokens {cap:,} is less than the {context:,} tokens of "
        "--context-length, so no request can use its whole context",
        hint=f"--max-total-tokens {context} or more, or --context-length {cap}",
    )


def _none(prediction: Prediction) -> Reason:
    return replace(_nothing(prediction.rest), hint=_more(prediction), sums=prediction.sums[:1])


def _nothing(rest: Rest) -> Reason:
    doubt = rest.estimated and rest.gib > -_DOUBT_GIB
    return Reason(
        name="kv_pool_small",
        severity="warn" if doubt else "refuse",
        message=f"{rest.weights_gib:.1f} GiB of weights on each GPU leave no room for a KV pool "
        f"in {rest.fraction:.3g} of {rest.before_gib:.1f} GiB: SGLang does not start without one",
        hint=f"more GPUs (a higher --tp-size) or smaller weights; nothing below "
        f"--mem-fraction-static {rest.least_fraction:.4f} starts",
        sums=rest.sums,
    )


def _states(prediction: Prediction) -> Reason:
    held = prediction.pool.states
    taken = held.gib + held.verify_gib if held else 0.0
    drafts = f", {held.verify_gib:.1f} of them for drafts," if held and held.verify_gib else ""
    return Reason(
        name="kv_pool_small",
        severity="warn" if prediction.estimated else "refuse",
        message=f"{taken:.1f} GiB of states{drafts} leave no room for a KV pool in the "
        f"{prediction.pool.rest_gib:.1f} GiB that weights leave on each GPU",
        hint="fewer --max-running-requests or draft tokens, --mamba-ssm-dtype bfloat16, or "
        "more GPUs",
        sums=prediction.sums[:1],
    )


def _no_request(prediction: Prediction) -> bool:
    held = prediction.pool.states
    return held is not None and held.slots is not None and held.slots < held.per_request


def _no_slots(prediction: Prediction) -> Reason:
    held = prediction.pool.states
    slots, each = (held.slots, held.per_request) if held else (0, 0)
    return Reason(
        name="kv_pool_small",
        severity="refuse",
        message=f"{slots} slots of state fit beside the KV pool, and one request needs {each}",
        hint=_more(prediction),
        sums=prediction.sums,
    )


def _short(prediction: Prediction) -> Iterator[Reason]:
    context, tokens = prediction.context, prediction.pool.tokens
    if context is None or tokens >= _SURE * context:
        return
    asked = prediction.settings.context is not None
    whose = "of --context-length" if asked else "that the model allows"
    yield Reason(
        name="kv_pool_small",
        severity="refuse" if asked else "warn",
        message=f"the KV pool will hold about {tokens:,} tokens, less than one context of the "
        f"{context:,} {whose}",
        hint=f"--context-length {_round(tokens)}, or {_more(prediction, context)}",
        sums=prediction.sums,
    )


def _more(prediction: Prediction, context: int = 1) -> str:
    """How a pool comes to hold so many tokens: by a larger fraction, where none is wanted that
    would be warned of as above SGLang's own."""
    gpus = "more GPUs (a higher --tp-size) or smaller weights"
    total = prediction.settings.memory_mib
    if prediction.before_gib <= 0:
        return gpus
    most = 1 - prediction.reserve.mib / total if total else 0.0
    tokens = context * prediction.cell.planned / GIB / prediction.before_gib
    wanted = math.ceil((prediction.rest.least_fraction + tokens) * 100) / 100
    if prediction.pool.states is not None or wanted > most or wanted <= prediction.fraction:
        return gpus
    return f"--mem-fraction-static {wanted:g} to {math.floor(most * 100) / 100:g}, or {gpus}"


def _round(tokens: int) -> int:
    return max(1024, tokens // 1024 * 1024)
