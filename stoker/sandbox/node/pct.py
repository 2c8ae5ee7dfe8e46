"""Stand-in: the program `pct` itself: its table of sub-commands."""

from __future__ import annotations

import sys
from typing import Sequence

from . import change, create, inside, power, show, snapshots, store, transfer
from .command import BOOLEAN, EXTRA, INTEGER, TEXT, Command, run
from .died import Died

KEEP_ENV = {"keep-env": BOOLEAN}
RIGHTS = {"perms": TEXT, "user": TEXT, "group": TEXT}
SNAPSHOT = ("vmid", "snapname")
TABLE = {
    "config": Command(show.config, options={"current": BOOLEAN, "snapshot": TEXT}),
    "create": Command(create.create, ("vmid", "ostemplate"), create.OPTIONS, takes_config=True),
    "delsnapshot": Command(snapshots.delete, SNAPSHOT, snapshots.DELETE_OPTIONS),
    "destroy": Command(create.destroy, options={"force": BOOLEAN, "purge": BOOLEAN}),
    "enter": Command(inside.enter, options=KEEP_ENV),
    "exec": Command(inside.execute, ("vmid", EXTRA), KEEP_ENV),
    "list": Command(show.listing, ()),
    "listsnapshot": Command(show.snapshots),
    "pending": Command(show.pending_changes),
    "pull": Command(transfer.pull, ("vmid", "path", "destination"), RIGHTS),
    "push": Command(transfer.push, ("vmid", "file", "destination"), RIGHTS),
    "reboot": Command(power.reboot, options={"timeout": INTEGER}),
    "resize": Command(change.resize, ("vmid", "disk", "size"), {"digest": TEXT}),
    "rollback": Command(snapshots.roll_back, SNAPSHOT, snapshots.ROLLBACK_OPTIONS),
    "set": Command(change.set_options, ("vmid",), change.OPTIONS, takes_config=True),
    "shutdown": Command(power.shutdown, options={"timeout": INTEGER, "forcestop": BOOLEAN}),
    "snapshot": Command(snapshots.take, SNAPSHOT, snapshots.OPTIONS),
    "start": Command(power.start, options={"skiplock": BOOLEAN, "debug": BOOLEAN}),
    "status": Command(show.status, options={"verbose": BOOLEAN}),
    "stop": Command(power.stop, options={"skiplock": BOOLEAN, "overrule-shutdown": BOOLEAN}),
    "unlock": Command(change.unlock),
}


def main(words: Sequence[str]) -> int:
    """The exit code of `pct WORDS...`."""
    try:
        store.require_cluster()
    except Died as died:
        print(died.text, file=sys.stderr)
        return died.code
    return run("pct", TABLE, words)
