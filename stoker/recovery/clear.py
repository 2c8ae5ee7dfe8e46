"""`clear VMID`: a human has repaired the node by hand; give back what is owed, forget the marks."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from stoker.health.refusal import BUSY
from stoker.recovery import cards, locking, restoring, stored
from stoker.recovery.acting import Acting
from stoker.recovery.attempts import RELOAD, Attempts
from stoker.recovery.journal import Journal
from stoker.recovery.locking import Busy
from stoker.recovery.machine import Machine
from stoker.recovery.record import Record


def add_to(commands: Any) -> None:
    """The options."""
    told = "give back what a cut-short recovery left, and allow one more reset"
    parser = commands.add_parser("clear", help=told, description=told)
    parser.add_argument("vmid", type=int)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Under the same locks as a recovery."""
    machine, vmid = Machine.here(), arguments.vmid
    try:
        held = locking.Held(locking.paths(machine, vmid), f"clearing of CT {vmid}")
    except Busy as error:
        print(f"cannot clear CT {vmid}: {error}", file=sys.stderr)
        return BUSY
    record = Record(machine, vmid)
    kept = restoring.give_back(Acting(machine, vmid, record, Journal(None)), None)
    for sentence in kept:
        print(f"could not be given back, and is forgotten: {sentence}", file=sys.stderr)
    record.close()
    stored.remove(f"{machine.run}/abandoned.json")
    uuids = frozenset(card.uuid for card in cards.found(machine))
    gone = Attempts(machine).clear(uuids | {RELOAD})
    print(f"forgotten: {', '.join(sorted(gone)) or 'nothing was marked'}")
    held.free()
    return 0
