"""Texts as they may be kept where everybody reads: without the unit's secrets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from stoker.health import redaction
from stoker.health.crash.verdict import Verdict

HIDDEN = "***"


class Hiding:
    """Hides these secrets, and what reads like one."""

    def __init__(self, secrets: Sequence[str]) -> None:
        # A dataclass is logged by repr, a request as JSON: both escape.
        forms = {form for s in secrets for form in (s, repr(s)[1:-1], json.dumps(s)[1:-1])}
        self._forms = sorted(forms, key=len, reverse=True)

    def text(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return redaction.text(text)

    def lines(self, lines: Sequence[str]) -> tuple[str, ...]:
        return tuple(self.text(line) for line in lines)

    def verdict(self, verdict: Verdict) -> Verdict:
        return replace(
            verdict,
            text=self.text(verdict.text),
            cause=self.text(verdict.cause),
            action=self.text(verdict.action),
            details=self.lines(verdict.details),
        )
