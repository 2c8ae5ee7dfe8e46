"""What a server is in one word, the same wherever it is shown. Of facts that were asked already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stoker.diagnosis.loops import loop
from stoker.diagnosis.reports import Report
from stoker.facts.servers import Server
from stoker.facts.startup import Answer, Question
from stoker.health.crash.verdict import HEALTHY, Verdict

SERVES = ("serving", "outdated")
"""outdated: it serves, but not what is on disk."""
WELL = (*SERVES, "loading")
_UP = ("ready", "prefill", "decode", "serving")
_SAYS_NOTHING = (HEALTHY, "silent_death")
"""Of a log that goes on: nothing in it is wrong, but it may not have come to its end yet."""


def questions(servers: Iterable[Server], **words: Any) -> tuple[Question, ...]:
    """What to ask those that run, for a token each; `words` are a question's own."""
    return tuple(
        Question(one.unit, one.words[0], one.local_url, one.model, one.main_pid, **words)
        for one in servers
        if one.active == "active" and one.main_pid and one.words
    )


def state_of(
    server: Server,
    answer: Answer | None,
    verdict: Verdict | None = None,
    reports: Sequence[Report] = (),
) -> str:
    """serving; outdated; loading; silent (runs and gives no token, though by its log it is up or
    has failed); restarting (also while it loads again in a loop); failed; stopped; unreachable (it
    runs, and could not be asked).

    `verdict` of its log as it is now, `reports` of its deaths; without them less is known.
    """
    if server.sub == "auto-restart":
        return "restarting"
    if server.active == "active":
        word = _running(server, answer, verdict)
    else:
        word = {"failed": "failed", "activating": "loading"}.get(server.active, "stopped")
    return "restarting" if word == "loading" and first_of_loop(server, reports) else word


def first_of_loop(server: Server, reports: Sequence[Report]) -> Report | None:
    """The failure that began the restart loop in which it is loading now; None: it is in none."""
    deaths = loop(reports)
    if not deaths or deaths[-1].death.restarts + 1 != server.restarts:
        return None
    return deaths[0]


def _running(server: Server, answer: Answer | None, verdict: Verdict | None) -> str:
    if answer is None:
        return "unreachable" if questions([server]) else "loading"
    if not answer.error:
        return "serving" if server.running_digest == server.disk_digest else "outdated"
    if verdict is None:
        return "loading"
    wrong = verdict.phase in _UP or verdict.name not in _SAYS_NOTHING
    return "silent" if wrong else "loading"
