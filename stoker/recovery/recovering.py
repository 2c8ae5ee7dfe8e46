"""One run on its node: locks, left-overs, the climb, and everything given back on every way out."""

from __future__ import annotations

import signal
import traceback
from dataclasses import dataclass
from types import FrameType

from stoker.health.done import Done, Permitted
from stoker.health.ladder import decide
from stoker.health.plans import give_back, plan
from stoker.health.refusal import BUSY
from stoker.health.situation import Situation
from stoker.recovery import locking, restoring
from stoker.recovery.acting import Acting
from stoker.recovery.attempts import Attempts
from stoker.recovery.climbing import Climb, End, sentence
from stoker.recovery.journal import Journal
from stoker.recovery.locking import Busy
from stoker.recovery.machine import Machine
from stoker.recovery.node import Node
from stoker.recovery.record import Record
from stoker.recovery.rehearsing import Rehearsal, freed, in_words


@dataclass(frozen=True)
class Order:
    """What the human asked for."""

    vmid: int
    units: tuple[str, ...]
    gpus: tuple[str, ...] | None
    permitted: Permitted


@dataclass(frozen=True)
class Outcome:
    """How it ended."""

    code: int
    text: str
    changed: bool = False


class Interrupted(BaseException):
    """Somebody asked us to stop; what was changed is given back first."""


def recover(machine: Machine, order: Order, journal: Journal) -> Outcome:
    """Climb, under both locks."""
    who = f"recovery of CT {order.vmid}"
    try:
        held = locking.Held(locking.paths(machine, order.vmid), who)
    except Busy as error:
        return Outcome(BUSY, f"cannot recover CT {order.vmid}: {error}")
    _on_signals()
    record = Record(machine, order.vmid)
    acting = Acting(machine, order.vmid, record, journal)
    try:
        return _climbed(machine, order, acting, journal)
    except BaseException as error:
        _on_signals(ignore=True)
        restoring.give_back(acting, None)
        if isinstance(error, Interrupted):
            return Outcome(1, f"cannot go on with CT {order.vmid}: {error}; run it again", True)
        journal.tell("bug", traceback.format_exc())
        return Outcome(1, f"cannot recover CT {order.vmid}: {type(error).__name__}: {error}", True)
    finally:
        held.free()


def _climbed(machine: Machine, order: Order, acting: Acting, journal: Journal) -> Outcome:
    node = Node(machine, order.vmid, order.units, acting, journal)
    attempts = Attempts(machine)
    done = Done(
        wanted=acting.record.wanted,
        reset_this_boot=attempts.reset,
        reloaded_this_boot=attempts.reloaded,
    )
    climb = Climb(node, journal, order.vmid, order.permitted, order.gpus, done)
    begun = climb.begin()
    if acting.record.changes:
        left = f"a run of {acting.record.since} left something; it is given back first"
        journal.tell("leftover", left)
        restoring.give_back(acting, begun)
        begun = climb.begin()
    acting.record.wants(begun.done.wanted)
    end = climb.run(begun)
    _on_signals(ignore=True)
    kept = restoring.give_back(acting, end.situation)
    if not kept and not end.situation.to_start:
        acting.record.close()
    return Outcome(end.code, "; ".join([sentence(end), *kept]), end.changed)


def rehearse(machine: Machine, order: Order, journal: Journal) -> Outcome:
    """Say what would be done, rung by rung; nothing is changed, no lock is taken."""
    record = Record(machine, order.vmid)
    acting = Acting(machine, order.vmid, record, journal)
    attempts = Attempts(machine)
    done = Done(
        wanted=record.wanted,
        reset_this_boot=attempts.reset,
        reloaded_this_boot=attempts.reloaded,
    )
    node = Node(machine, order.vmid, order.units, acting, journal, learn=False)
    for change in reversed(record.changes):
        for run in give_back(change, order.vmid):
            journal.tell("would", f"first, for a run that was cut short: {run}")
    begun = Climb(node, journal, order.vmid, order.permitted, order.gpus, done).begin()
    first = decide(begun)
    if first.code is not None:
        end = End(first, begun)
        return Outcome(end.code, sentence(end))
    told = journal.without("rung")
    end = Climb(Rehearsal(begun, told), told, order.vmid, order.permitted).run(begun)
    _would_serve(journal, end.situation)
    return Outcome(0, f"CT {order.vmid}: would climb; if nothing helps: {sentence(end)}", True)


def _would_serve(journal: Journal, end: Situation) -> None:
    """What comes last, once memory is back."""
    if "Z" in end.done.rungs:
        return
    good = freed(end)
    last = decide(good)
    if last.step == "serve":
        for act in plan("serve", good):
            for words in in_words(act, good.vmid):
                journal.tell("would", f"once memory is back: {words}", "Z")
        names = tuple(unit.name for unit in good.to_start)
        Rehearsal(good, journal).follow(names, last.row.bound_s)


def _on_signals(ignore: bool = False) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        raise Interrupted(f"it got {signal.Signals(number).name}")

    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN if ignore else stop)
