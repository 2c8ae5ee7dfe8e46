"""Whether a speculative algorithm has all that it needs, as SGLang's own start finds out late."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from stoker.serving import document
from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.flags.nearness import closest_value
from stoker.serving.flags.spans import joined
from stoker.serving.versions import key

DATA = Path(__file__).parent / "data" / "speculation.yaml"
STEPS, TOPK, TOKENS, DRAFT = (
    "--speculative-num-steps",
    "--speculative-eagle-topk",
    "--speculative-num-draft-tokens",
    "--speculative-draft-model-path",
)


@dataclass(frozen=True)
class Algorithm:
    """What one algorithm needs."""

    since: str
    draft: Literal["", "unless-own", "always"] = ""
    """Whether it needs a draft model's path; unless-own: not where the model has draft layers."""
    chain: bool = False
    """Steps, topk and draft tokens belong together: all of them, or none and SGLang chooses."""
    needs: tuple[str, ...] = ()


@functools.cache
def _rows() -> Mapping[str, Any]:
    found, _ = document.read(DATA.read_text(encoding="utf-8"))
    return dict(found)


@functools.cache
def algorithms() -> Mapping[str, Algorithm]:
    """By name. Raises TypeError on an unknown key."""
    rows = _rows()["algorithms"]
    return {
        name: Algorithm(**{**row, "since": str(row["since"]), "needs": tuple(row.get("needs", ()))})
        for name, row in rows.items()
    }


def check(question: Question) -> Iterator[Reason]:
    """Of the flags that are understood; a name that the parser refused is told there."""
    parsed = question.parsed
    name = str(parsed.get("speculative_algorithm") or "").upper()
    if not name:
        yield from _without(parsed)
        return
    known = {one: row for one, row in algorithms().items() if _in(row, question.sglang)}
    if name not in known:
        yield _no_algorithm(name, known, question.sglang)
        return
    yield from _companions(name, known[name], parsed)
    if reason := _draft(name, known[name], question):
        yield reason


def _in(row: Algorithm, version: str) -> bool:
    return key(row.since) <= key(version)


def _no_algorithm(name: str, known: Mapping[str, Algorithm], version: str) -> Reason:
    row = algorithms().get(name)
    said = f"SGLang {version} has no speculative algorithm {name}"
    has = f" of its own: it has {joined(list(known))}"
    said += f", which came with {row.since}" if row else has
    near = closest_value(name.lower(), [one.lower() for one in known])
    do = f"use {joined([one.upper() for one in near], 'or')}" if near else "use one that it has"
    return Reason("flag_bad_value", "refuse", said, f"install {row.since} or later" if row else do)


def _without(parsed: Parsed) -> Iterator[Reason]:
    """Draft flags that nothing reads."""
    given = [flag for flag in (DRAFT, STEPS, TOPK, TOKENS) if _dest(flag) in parsed.given]
    if given and "speculative_algorithm" not in parsed.given:
        verb = "does" if len(given) == 1 else "do"
        said = f"{joined(given)} {verb} nothing without --speculative-algorithm"
        do = "add --speculative-algorithm, or remove the rest"
        yield Reason("spec_companion_missing", "warn", said, do)


def _dest(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")


def _companions(name: str, row: Algorithm, parsed: Parsed) -> Iterator[Reason]:
    missing = [flag for flag in row.needs if parsed.get(_dest(flag)) is None]
    if row.chain and not parsed.get("speculative_adaptive"):
        missing += _broken_chain(parsed)
    if missing:
        wants = joined((STEPS, TOPK, TOKENS) if row.chain else row.needs)
        are = f"{joined(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        yield Reason(
            "spec_companion_missing",
            "refuse",
            f"{name} needs {wants}{' together' if row.chain else ''}, and {are}: SGLang does not "
            "start",
            f"add {joined(missing)}",
        )


def _broken_chain(parsed: Parsed) -> list[str]:
    """Those of the three that are missing while another is there."""
    given = {flag for flag in (STEPS, TOPK, TOKENS) if parsed.get(_dest(flag)) is not None}
    if not given:
        return []  # SGLang chooses all three by the model
    needed = [STEPS, TOPK]
    # With one branch SGLang takes steps + 1 draft tokens by itself, whatever is said.
    if parsed.get(_dest(TOPK)) != 1:
        needed.append(TOKENS)
    return [flag for flag in needed if flag not in given]


def _draft(name: str, row: Algorithm, question: Question) -> Reason | None:
    model = question.model
    own = model is not None and (model.built_in_draft or model.arch in _rows()["own_draft"])
    unknown = model is None or model.arch is None
    if not row.draft or question.parsed.get(_dest(DRAFT)):
        return None
    if row.draft == "unless-own" and (own or unknown):
        return None
    if row.draft == "always" or model is None:
        said = f"{name} needs a draft model, and {DRAFT} is missing"
    else:
        said = (
            f"{name} needs a draft model and {model.arch} has no draft layers of its own: "
            f"without {DRAFT} SGLang loads the model itself twice"
        )
    return Reason("spec_draft_missing", "refuse", said, f"add {DRAFT}")
