"""Stand-in: the program `pct` itself: its table of sub-commands."""

from __future__ import annotations

import sys
from typing import Sequence

from . import create, inside, power, show, store
from .command import BOOLEAN, EXTRA, INTEGER, TEXT, Command, run
from .died import Died

KEEP_ENV = {"keep-env": BOOLEAN}
TABLE = {
    "config": Command(show.config, options={"current": BOOLEAN, "snapshot": TEXT}),
    "create": Command(create.create, ("vmid", "ostemplate"), create.OPTIONS, takes_config=True),
    "destroy": Command(create.destroy, options={"force": BOOLEAN, "purge": BOOLEAN}),
    "enter": Command(inside.enter, options=KEEP_ENV),
    "exec": Command(inside.execute, ("vmid", EXTRA), KEEP_ENV),
    "list": Command(show.listing, ()),
    "listsnapshot": Command(show.snapshots),
    "pending": Command(show.pending_changes),
    "reboot": Command(power.reboot, options={"timeout": INTEGER}),
    "shutdown": Command(power.shutdown, options={"timeout": INTEGER, "forcestop": BOOLEAN}),
    "start": Command(power.start, options={"skiplock": BOOLEAN, "debug": BOOLEAN}),
    "status": Command(show.status, options={"verbose": BOOLEAN}),
    "stop": Command(power.stop, options={"skiplock": BOOLEAN, "overrule-shutdown": BOOLEAN}),
}


def main(words: Sequence[str]) -> int:
    """The exit code of `pct WORDS...`."""
    try:
        store.require_cluster()
    except Died as died:
        print(died.text, file=sys.stderr)
        return died.code
    return run("pct", TABLE, words)
