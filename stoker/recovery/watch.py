"""`stoker.pyz watch`: one look at the node, written as metrics and as a status."""

from __future__ import annotations

import argparse
import fcntl
import importlib
import os
import sys
from typing import Any

from stoker.recovery import calling, watch_config
from stoker.recovery.past_runs import PastRuns
from stoker.recovery.watching import BUSY, watch


def add_to(commands: Any) -> None:
    """Adds this command to the command line."""
    parser = commands.add_parser("watch", help="look once, write metrics and status")
    parser.add_argument("--config", default=watch_config.PLACE, metavar="FILE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Looks once; 2 if the configuration cannot be followed, 12 if another watch runs."""
    try:
        config = watch_config.read(arguments.config)
    except watch_config.Unfit as error:
        print(error, file=sys.stderr)
        return 2
    machine = importlib.import_module("stoker.recovery.machine").Machine.here()
    look = importlib.import_module("stoker.recovery.looking").look
    os.makedirs(machine.locks, mode=0o755, exist_ok=True)
    lock = os.open(
        os.path.join(machine.locks, "watch.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600
    )
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("cannot watch: another watch runs; wait for its end", file=sys.stderr)
        return BUSY
    past = PastRuns(os.path.join(machine.state, "watch.json"))
    try:
        climbs = watch(config, lambda: look(machine), calling.recover, past)
    except OSError as error:
        place = error.filename or machine.state
        print(f"cannot watch: {place}: {error.strerror}; see its folder", file=sys.stderr)
        return 1
    for climb in climbs:
        print(f"CT {climb.vmid}: {climb.text}")
    return 0
