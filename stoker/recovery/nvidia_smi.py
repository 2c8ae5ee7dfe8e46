"""nvidia-smi, asked once and never beside one of ours that hangs.

It enters the driver: with a lock stuck there every one more waits for ever, where no signal ends
it. And without a driver it makes device nodes and loads modules, so it is asked only of a driver
that is loaded.
"""

from __future__ import annotations

import fcntl
import json
import os
import time

from stoker.health import smi, smi_messages
from stoker.health.seen import Smi
from stoker.recovery import asking, files, process, stored
from stoker.recovery.in_time import Budget
from stoker.recovery.machine import Machine
from stoker.recovery.replacing import replace

WORDS = ("nvidia-smi", "-q", "-x")
LIMIT_S = 20.0
_TURN_S = 25.0
"""How long another look's nvidia-smi is waited for: longer than it may take."""


class Told:
    """The document, if it is whole, and what was said of GPUs that could not be opened."""

    def __init__(self, outcome: Smi, said: str = "") -> None:
        self.outcome = outcome
        self.gpus = smi.parse(said).gpus if outcome.state == "ok" else ()
        self.lost = smi_messages.lost(said)


def ask(machine: Machine, budget: Budget | None = None) -> Told:
    """Ask it, or say why not; one that could not be written down is not started.

    Nor one that would have less than its time within `budget`: it would be taken for hanging.
    """
    patience = _TURN_S if budget is None else min(_TURN_S, budget.left() - LIMIT_S)
    if patience < 0:
        return skipped("no time was left for it")
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        os.makedirs(machine.run, mode=0o755, exist_ok=True)
        turn = os.open(f"{machine.run}/smi.lock", flags, 0o600)
    except OSError as error:
        return skipped(f"{machine.run} cannot be written ({error.strerror})")
    try:
        if not _my_turn(turn, patience):
            return skipped(f"another look's has not answered in {patience:.0f} s")
        stuck = _stuck(machine)
        return skipped(stuck) if stuck else _ask(machine)
    except OSError as error:
        return skipped(f"{machine.run} cannot be written ({error.strerror})")
    finally:
        os.close(turn)


def skipped(why: str) -> Told:
    """As if asked, where it is not."""
    return Told(Smi("skipped", None, why, 0.0))


def _ask(machine: Machine) -> Told:
    record = f"{machine.run}/smi.json"

    def started(pid: int) -> None:
        ticks = _ticks(machine, pid)
        replace(record, json.dumps({"pid": pid, "start_ticks": ticks, "since": time.time()}))

    replace(record, "{}")  # on a full disk this fails before anything enters the driver
    answer = asking.ask(WORDS, LIMIT_S, started=started)
    if not answer.alive and os.path.lexists(record):
        os.unlink(record)
    outcome = smi.outcome(answer.code, answer.out, answer.err, answer.seconds)
    return Told(outcome, f"{answer.out}\n{answer.err}")


def _my_turn(turn: int, patience: float) -> bool:
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(0.1)
        else:
            return True


def _stuck(machine: Machine) -> str:
    """The command of ours that still is in the driver, in words; empty: none."""
    left = stored.load(f"{machine.run}/abandoned.json")
    told = [stored.load(f"{machine.run}/smi.json"), *(left if isinstance(left, list) else [])]
    for one in told:
        if not isinstance(one, dict) or one.get("driver") is False:
            continue
        pid, ticks = one.get("pid"), one.get("start_ticks")
        if isinstance(pid, int) and ticks and _ticks(machine, pid) == ticks:
            words = " ".join(map(str, one.get("words", WORDS)))
            return f"an earlier `{words}` of ours still hangs (process {pid})"
    return ""


def _ticks(machine: Machine, pid: int) -> int:
    """When the process started; 0 if it has ended."""
    try:
        stat = process.parse_stat(files.text(f"{machine.proc}/{pid}/stat"))
    except ValueError:
        return 0
    return 0 if stat.ended else stat.start_ticks
