"""Whether a draft's width and vocabulary are those of its target."""

from __future__ import annotations

from collections.abc import Iterator

from stoker.serving.checking.model import Model
from stoker.serving.checking.reason import Reason
from stoker.serving.weights.files import Draft
from stoker.serving.weights.wording import mismatch

_AUX_LAYERS = 3
"""Of the target, joined by an EAGLE3 draft whose config does not say how many."""


def check(draft: Draft, target: Model, algorithm: str) -> Iterator[Reason]:
    """What would be cut off, or mean another token. What is not said is not held against it."""
    where, own = draft.files.path, draft.model
    hidden = draft.target_hidden or (own.hidden if own else None)
    if algorithm != "STANDALONE" and None not in (hidden, target.hidden):
        if hidden != target.hidden:
            yield mismatch(
                f"{where} is made for a target of hidden size {hidden}, this one has "
                f"{target.hidden}",
                "take the draft that was trained for this target",
            )
            return
        yield from _joined(draft, target, algorithm)
    yield from _vocabulary(draft, target, algorithm)


def _joined(draft: Draft, target: Model, algorithm: str) -> Iterator[Reason]:
    shapes = dict(draft.shapes)
    fc = shapes.get("fc.weight") or shapes.get("model.fc.weight")
    if algorithm != "EAGLE3" or fc is None or len(fc) != 2 or not target.hidden:
        return
    layers = draft.aux_layers or _AUX_LAYERS
    if fc[1] != layers * target.hidden:
        yield mismatch(
            f"fc of {draft.files.path} takes {fc[1]} values, SGLang gives it {layers} hidden "
            f"states of {target.hidden} of the target, {layers * target.hidden}",
            "take the draft that was trained for this target",
        )


def _vocabulary(draft: Draft, target: Model, algorithm: str) -> Iterator[Reason]:
    where, wanted = draft.files.path, target.vocabulary
    own = draft.model.vocabulary if draft.model else None
    # Of one family, small and large models may be padded to different sizes.
    spare = 0.01 if algorithm == "STANDALONE" else 0.0
    if own and wanted and abs(own - wanted) > spare * wanted:
        yield mismatch(
            f"{where} has a vocabulary of {own} tokens, the target {wanted}: their tokens are not "
            "the same",
            "take the draft that was trained for this target",
        )
        return
    proposes, mapped = draft.vocabulary, any(key.rpartition(".")[2] == "d2t" for key in draft.keys)
    fewer = bool(proposes and wanted and proposes < wanted)
    if algorithm == "EAGLE3" and fewer and draft.keys and not mapped:
        yield mismatch(
            f"{where} proposes {proposes} of the target's {wanted} tokens and has no d2t, "
            "which says which those are",
            "fetch the draft again, with its d2t",
        )
