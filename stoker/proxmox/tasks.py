"""Waiting for Proxmox's tasks. That a request got a task's UPID says nothing of how it ends."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from stoker.proxmox import refusals
from stoker.proxmox.backend import Warnings
from stoker.proxmox.errors import (
    Forbidden,
    ProxmoxError,
    Rejected,
    TaskFailed,
    TaskUnknown,
    Unauthorized,
)

_LOG_LINES = 5000
_UNKNOWN = re.compile(r"unexpected status|unable to read tail.*|unknown|")


class Asking(Protocol):
    """What of a Session is needed here."""

    sleep: Callable[[float], None]
    clock: Callable[[], float]

    def call(self, method: str, path: str, params: Mapping[str, Any], asked: str = "") -> Any:
        """One request."""


def pauses(first_s: float = 0.05, longest_s: float = 1.0) -> Iterator[float]:
    """Seconds between two looks: quick at first, as most tasks are."""
    pause = first_s
    while True:
        yield pause
        pause = min(pause * 1.5, longest_s)


def awaited(session: Asking, upid: str, asked: str, limit_s: float) -> Warnings:
    """Wait for a task's end: what it warned of, or the error that it ended with.

    A look that fails is repeated until the limit; then TaskUnknown, with how to look by hand.
    """
    if not is_upid(upid):
        raise refusals.unknown(asked, f"{upid!r} is no task; look at the node's tasks")
    until, why = session.clock() + limit_s, f"it runs for more than {limit_s:g} s"
    for pause in pauses():
        state: Mapping[str, Any] = {}
        try:
            state = session.call("GET", f"{_path(upid)}/status", {}, "see how the task ended")
        except (Unauthorized, Forbidden, Rejected) as error:
            raise _unknown(upid, asked, str(error)) from None
        except ProxmoxError as error:
            why = str(error)
        if state.get("status") == "stopped":
            return _ended(session, upid, asked, str(state.get("exitstatus", "")))
        if session.clock() + pause > until:
            raise _unknown(upid, asked, why)
        session.sleep(pause)
    raise AssertionError  # pauses never end


def is_upid(text: object) -> bool:
    """`UPID:node:pid:pstart:start:type:id:user:`."""
    return isinstance(text, str) and bool(re.fullmatch(r"UPID:[^:\s]+(:[^:\s]*){7,}", text))


def kind(upid: str) -> str:
    """Of the task: `vzstart`, `hastart` ..."""
    return upid.split(":")[5]


def _path(upid: str) -> str:
    return f"nodes/{upid.split(':')[1]}/tasks/{upid}"


def _unknown(upid: str, asked: str, why: str) -> TaskUnknown:
    look = f"pvesh get /{_path(upid)}/status"
    return refusals.unknown(asked, f"{why}; it may still run, look at it there: {look}")


def _ended(session: Asking, upid: str, asked: str, how: str) -> Warnings:
    if how == "OK":
        return ()
    if how.startswith("WARNINGS"):
        lines = _log(session, upid)
        return tuple(line for line in lines if line.lower().startswith("warn")) or (how,)
    if _UNKNOWN.fullmatch(how):
        raise _unknown(upid, asked, f"its node does not know ({how or 'no word'})")
    last = _last(how, _log(session, upid))
    raise refusals.error(how, asked, TaskFailed, f"its task {upid} ended so{last}")


def _last(how: str, lines: Sequence[str]) -> str:
    said = [line for line in lines if line != how and not line.startswith("TASK ")][-3:]
    return f", its last lines: {refusals.one_line(' | '.join(said))}" if said else ""


def _log(session: Asking, upid: str) -> list[str]:
    """The lines of its log; none where it cannot be read, which hides nothing: how it ended is
    known."""
    try:
        rows = session.call("GET", f"{_path(upid)}/log", {"start": 0, "limit": _LOG_LINES})
    except ProxmoxError:
        return []
    lines = [str(row.get("t", "")).strip() for row in rows or []]
    return [line for line in lines if line and line != "no content"]
