"""Lines of a run for people, or as they are for programs."""

from __future__ import annotations

import json
import time
from typing import Any

from stoker.health import wording
from stoker.health.refusal import REBOOT

QUIET = frozenset({"start", "note"})


def show(told: dict[str, Any], as_json: bool) -> None:
    """Print one line of a run."""
    line = json.dumps(told, ensure_ascii=False) if as_json else sentence(told)
    if line:
        print(line, flush=True)


def _plain(text: str) -> str:
    """Without what would move a terminal's cursor: much of it was said inside a container."""
    return wording.printable(text, also="\n\t")


def sentence(told: dict[str, Any]) -> str:
    """`hh:mm:ss rung text`; empty for what only programs need."""
    if told["event"] in QUIET:
        return ""
    clock = time.strftime("%H:%M:%S", time.localtime(told["time"]))
    text = _plain(str(told["text"]).rstrip())
    if told["event"] == "refused":
        opens = told.get("code") != REBOOT and told.get("human")
        text = f"not taken: {text}" + (f"; {told['human']}" if opens else "")
    elif told["event"] in ("act", "would"):
        text = f"{'+' if told['event'] == 'act' else 'would:'} {text}"
    elif told["event"] == "log":
        text = f"| {text}"
    elif told["event"] == "failed":
        text = f"failed: {text}"
    return f"{clock} {told['rung']:<3} {text}"
