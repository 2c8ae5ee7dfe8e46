"""A verdict in words and as the object that `--json` prints."""

from collections.abc import Iterator
from typing import Any

from stoker.serving.checking.reason import Reason, Verdict

EXIT = {"ok": 0, "warn": 0, "refuse": 1}
UNREADABLE = 2


def document(file: str, verdict: Verdict) -> dict[str, Any]:
    """As JSON: the file, the word, the reasons, and the notes where there are any."""
    told: dict[str, Any] = {
        "file": file,
        "verdict": verdict.word,
        "reasons": [reason.document for reason in verdict.reasons],
    }
    return told | ({"notes": list(verdict.notes)} if verdict.notes else {})


def unreadable(file: str, why: str) -> dict[str, Any]:
    """In place of a verdict: nothing is known but why."""
    return {"file": file, "verdict": None, "reasons": [], "error": why}


def lines(file: str, verdict: Verdict) -> Iterator[str]:
    """For a terminal: the verdict, each reason with its sums and what to do, then the notes."""
    yield f"{file}: {verdict.word}"
    for reason in verdict.reasons:
        yield from paragraph(reason)
    for note in verdict.notes:
        yield f"  note: {note}"


def paragraph(reason: Reason, indent: str = "  ") -> Iterator[str]:
    """One reason: what is, the sums behind it, what to do, the row by which it can be waived."""
    yield f"{indent}{reason.severity} {reason.name}: {reason.message}"
    for line in reason.sums:
        yield f"{indent}    {line}"
    if reason.hint:
        yield f"{indent}  do: {reason.hint}"
    if reason.rule:
        yield f"{indent}  row: {reason.rule}"
