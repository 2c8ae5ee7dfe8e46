"""Whether an EAGLE3 draft's tensors have the names under which SGLang loads them.

A name that it does not know is dropped without a word (models/llama_eagle3.py), so the draft runs
with random weights and no token of it is ever accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stoker.serving.checking.reason import Reason
from stoker.serving.weights.files import Draft
from stoker.serving.weights.rows import DraftRow
from stoker.serving.weights.wording import listed, mismatch

_LAYER = (
    *("self_attn.o_proj", "mlp.down_proj", "hidden_norm", "input_layernorm"),
    "post_attention_layernorm",
)
"""Parts of a draft's layer that no other name stands for."""
_OF_A_LAYER = re.compile(
    r"(.*\.)(?:self_attn|mlp|hidden_norm|input_layernorm|post_attention_layernorm)\."
)


def check(draft: Draft, sglang: str, held: list[DraftRow]) -> Iterator[Reason]:
    """Of a draft whose tensors' names are known; `held`: the rows for this SGLang."""
    # A list of nothing but a layer's tensors is somebody's extract, not all there is.
    every = not all(_OF_A_LAYER.match(key) for key in draft.keys)
    if every:
        yield from _head(draft)
    arch = draft.model.arch if draft.model else None
    fit = [r for r in held if "EAGLE3" in r.algorithms and arch in (None, r.architecture)]
    prefixes = tuple(sorted({prefix for row in fit for prefix in row.prefixes}))
    if not prefixes:
        return
    if any(key.startswith(prefixes) for key in draft.keys):
        if every:
            yield from _parts(draft, prefixes)
        yield from _depth(draft, fit)
    else:
        yield _names(draft, f"{fit[0].architecture} of SGLang {sglang}", prefixes)


def _names(draft: Draft, taker: str, prefixes: tuple[str, ...]) -> Reason:
    wrong = [key for key in draft.keys if _OF_A_LAYER.match(key)]
    takes = " or ".join(f"{prefix}*" for prefix in prefixes)
    if not wrong:
        message = f"no tensor of {draft.files.path} is one of a layer; {taker} takes {takes}"
        return mismatch(message, "take a draft that has its layer, or see what this directory is")
    begin = sorted({found[1] for key in wrong if (found := _OF_A_LAYER.match(key))})
    return mismatch(
        f"{len(wrong)} of the {len(draft.keys)} tensors of {draft.files.path} are named "
        f"{listed([f'{one}*' for one in begin])}, and {taker} takes only {takes}: it would drop "
        "them without a word and draft with random weights",
        f"have a copy with the right names made: `draft: {{renamed_from: {draft.files.path}}}` in "
        "the flag set, and a new directory as speculative-draft-model-path",
    )


def _parts(draft: Draft, prefixes: tuple[str, ...]) -> Iterator[Reason]:
    if draft.model and draft.model.mla:
        return
    bare = {_bare(key, prefixes) for key in draft.keys}
    absent = [part for part in (*_LAYER, "fc", "norm") if not any(_is(k, part) for k in bare)]
    if absent:
        yield mismatch(
            f"{draft.files.path} lacks {listed(absent)}, which an EAGLE3 draft has: it would "
            "draft with random weights",
            "fetch the draft again, or train it to its end",
        )


def _bare(key: str, prefixes: tuple[str, ...]) -> str:
    for prefix in sorted(prefixes, key=len, reverse=True):
        if key.startswith(prefix):
            return key[len(prefix) :]
    return key.removeprefix("model.")


def _is(key: str, part: str) -> bool:
    return key.startswith(f"{part}.")


def _depth(draft: Draft, fit: list[DraftRow]) -> Iterator[Reason]:
    layers = draft.model.layers if draft.model else None
    if layers not in (None, 1) and all(row.one_layer for row in fit):
        yield mismatch(
            f"{draft.files.path} has {layers} layers, and {fit[0].architecture} of this SGLang "
            "takes exactly one",
            "take a draft of one layer, or SGLang 0.5.12 or newer",
        )


def _head(draft: Draft) -> Iterator[Reason]:
    if draft.shares_head or any(
        key.startswith(("lm_head.", "model.lm_head.")) for key in draft.keys
    ):
        return
    yield mismatch(
        f"{draft.files.path} has no lm_head, and its config neither shares the target's nor ties "
        "its own: it would draft from random weights, no draft accepted, and no error",
        "take a draft with its lm_head, or set draft_vocab_size to null in its config.json if it "
        "was trained with the target's",
    )
