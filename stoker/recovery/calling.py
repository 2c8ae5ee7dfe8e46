"""`recover` called as a command of its own, from the file that this one came in."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

PLAN_S = 120
FOLLOW_S = 600
"""How long a run is followed. It goes on by itself afterwards, in its own service."""


@dataclass(frozen=True)
class Told:
    """What `recover` said at its end."""

    code: int | None
    """Its exit code; None: it had not ended when we stopped listening."""
    changed: bool
    """Whether it changed anything or, as a plan, would."""
    texts: tuple[str, ...]
    """Its sentences, in order, the last 40."""


def recover(vmid: int, options: Sequence[str]) -> Told:
    """Runs it and follows it; ended in a plan's time if `options` ask for one."""
    words = [*myself(), "recover", str(vmid), *options, "--json"]
    wait = PLAN_S if "--dry-run" in options else FOLLOW_S
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as follower:
        try:
            said, _ = follower.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            follower.terminate()  # it follows a service of its own, which goes on
            return told(_rest(follower), None)
    return told(said, follower.returncode)


def _rest(ending: subprocess.Popen[str]) -> str:
    try:
        return ending.communicate(timeout=5)[0]
    except subprocess.TimeoutExpired:
        ending.kill()
        return ending.communicate()[0]


def myself() -> list[str]:
    """The words that start this program, from its one file or from a checkout."""
    archive = getattr(globals().get("__loader__"), "archive", "")
    if archive:
        return [sys.executable, "-I", "-S", archive]
    return [sys.executable, "-m", "stoker.recovery"]


def told(said: str, code: int | None) -> Told:
    """What the lines tell; a line that is no event, as of a crash, is a text as it stands."""
    texts, changed = [], False
    for line in said.splitlines():
        event = _event(line)
        text = str(event.get("text", "")) if event else line.strip()
        if text:
            texts.append(text)
        if event.get("event") == "end":
            changed = bool(event.get("changed"))
    return Told(code, changed, tuple(texts[-40:]))


def _event(line: str) -> dict[str, object]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
