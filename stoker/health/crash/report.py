"""A verdict as the JSON object that files and other programs hold."""

from __future__ import annotations

from typing import Any

from stoker.health.crash.verdict import Verdict


def to_json(verdict: Verdict) -> dict[str, Any]:
    """Keys: class, phase, line, cause, action, confidence, text, time, details."""
    return {
        "class": verdict.name,
        "phase": verdict.phase,
        "line": verdict.line,
        "cause": verdict.cause,
        "action": verdict.action,
        "confidence": verdict.confidence,
        "text": verdict.text,
        "time": verdict.time,
        "details": list(verdict.details),
    }


def from_json(found: dict[str, Any]) -> Verdict:
    """The verdict again; KeyError or TypeError: it is none."""
    return Verdict(
        name=found["class"],
        phase=found["phase"],
        line=found["line"],
        text=found["text"],
        cause=found["cause"],
        action=found["action"],
        confidence=found["confidence"],
        time=found["time"],
        details=tuple(found["details"]),
    )
