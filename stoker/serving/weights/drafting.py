"""Whether a draft model is one for this target, this algorithm and this SGLang."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stoker.serving.checking.reason import Reason
from stoker.serving.weights import draft_keys, draft_sizes, rows
from stoker.serving.weights.files import Draft
from stoker.serving.weights.rows import DraftRow
from stoker.serving.weights.wording import mismatch

if TYPE_CHECKING:
    from stoker.serving.checking.question import Question


def check(question: Question, draft: Draft | None) -> Iterator[Reason]:
    """Reasons of class `draft_mismatch`. What the draft does not say is not held against it."""
    algorithm = algorithm_of(question)
    if (same := _itself(question, algorithm)) is not None:
        yield same
        return
    if draft is None or draft.files.exists is False or algorithm is None:
        return
    held = [row for row in rows.drafts() if row.holds(question.sglang)]
    yield from _architecture(draft, algorithm, question.sglang, held)
    if algorithm == "EAGLE3" and draft.keys:
        yield from draft_keys.check(draft, question.sglang, held)
    if question.model is not None and _must_fit(draft, algorithm):
        yield from draft_sizes.check(draft, question.model, algorithm)


def algorithm_of(question: Question) -> str | None:
    """The algorithm as SGLang resolves it: NEXTN is EAGLE. None: there is no speculation."""
    given = str(question.parsed.get("speculative_algorithm") or "").upper()
    return {"NEXTN": "EAGLE", "": None}.get(given, given)


def _must_fit(draft: Draft, algorithm: str) -> bool:
    """Whether width and vocabulary have to be the target's: of kinds that we know to want it."""
    arch = draft.model.arch if draft.model else None
    ours = [row for row in rows.drafts() if arch in (None, row.architecture)]
    made = any(algorithm in row.algorithms and row.target_sized for row in ours)
    return algorithm == "STANDALONE" or (algorithm in ("EAGLE", "EAGLE3") and made)


def _itself(question: Question, algorithm: str | None) -> Reason | None:
    """The target given as its own draft: right only where it has draft layers of its own."""
    path, model = question.parsed.get("speculative_draft_model_path"), question.model
    if not path or path != question.parsed.get("model_path"):
        return None
    built_in = model is None or model.built_in_draft
    if algorithm != "EAGLE3" and (algorithm != "EAGLE" or built_in):
        return None
    return mismatch(
        f"the draft model {path} is the target itself, which has no {algorithm} draft in it",
        "name a draft model made for it: --speculative-draft-model-path",
    )


def _architecture(
    draft: Draft, algorithm: str, sglang: str, held: list[DraftRow]
) -> Iterator[Reason]:
    arch = draft.model.arch if draft.model else None
    if arch is None:
        return
    ours = [row for row in rows.drafts() if row.architecture == arch]
    now = [row for row in held if row.architecture == arch]
    known = sorted({row.architecture for row in held if algorithm in row.algorithms})
    if ours and all(row.lacked_by(sglang) for row in ours):
        yield mismatch(
            f"{draft.files.path} is a {arch}, which SGLang {sglang} does not have; "
            f"{min(row.since for row in ours)} is the first that does",
            f"take a draft of another kind ({', '.join(known)}) or a newer SGLang",
        )
    elif now and now[0].algorithms and not any(algorithm in row.algorithms for row in now):
        made = ", ".join(now[0].algorithms)
        message = f"{draft.files.path} is a {arch}, a draft for {made} and not for {algorithm}"
        yield mismatch(message, f"set --speculative-algorithm {made}, or take another draft")
    elif not ours and algorithm == "EAGLE3" and "eagle" not in arch.lower():
        yield mismatch(
            f"the config.json of {draft.files.path} says {arch}, which is no EAGLE3 draft: SGLang "
            f"{sglang} has {', '.join(known)}",
            "correct `architectures` there if its tensors are a draft's, or take another draft",
        )
