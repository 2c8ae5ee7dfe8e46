"""Stand-in: the program `ha-manager`: status, config, add, remove, set."""

from __future__ import annotations

import re
import sys
import time
from typing import Sequence

from . import getopt, ha, running, store
from .died import BadRequest, Died

STATES = ("started", "stopped", "enabled", "disabled", "ignored")


def main(words: Sequence[str]) -> int:
    """The exit code of `ha-manager WORDS...`."""
    try:
        store.require_cluster()
        return _run(words[0] if words else "", words[1:])
    except Died as died:
        print(died.text, file=sys.stderr)
        return died.code


def _run(name: str, words: Sequence[str]) -> int:
    if name == "status":
        return _status()
    if name == "config":
        for vmid, state in sorted(ha.resources().items()):
            print(f"ct:{vmid}\n\tstate {state}\n")
        return 0
    if name not in ("add", "remove", "set"):
        print(f"ERROR: unknown command 'ha-manager {name}'", file=sys.stderr)
        return 255
    known = {} if name == "remove" else {"state": False, "group": False, "comment": False}
    options, rest = getopt.parse(words, known)
    if not rest:
        raise BadRequest("not enough arguments", 255)
    return _change(name, rest[0], (options.get("state") or ["started"])[-1])


def _change(name: str, resource: str, state: str) -> int:
    match = re.fullmatch(r"(?:ct:)?(\d+)", resource)
    if not match:
        raise Died(f"unable to parse resource id '{resource}'")
    vmid, wanted = int(match.group(1)), ha.resources()
    if state not in STATES:
        known = ", ".join(STATES)
        raise Died(f"value '{state}' does not have a value in the enumeration '{known}'")
    if name == "add" and vmid in wanted:
        raise Died(f"resource ID 'ct:{vmid}' already defined")
    if name != "add" and vmid not in wanted:
        raise Died(f"no such resource 'ct:{vmid}'")
    if name == "remove":
        del wanted[vmid]
        ha.save(wanted)
        return 0
    store.load(vmid)
    ha.save({**wanted, vmid: state})
    ha.carry_out(vmid, state)
    return 0


def _status() -> int:
    node, now = store.node_name(), time.strftime("%a %b %e %H:%M:%S %Y")
    wanted = ha.resources()
    print("quorum OK")
    if wanted:
        print(f"master {node} (active, {now})\nlrm {node} (active, {now})")
    for vmid, state in sorted(wanted.items()):
        shown = "started" if running.is_running(vmid) else "stopped"
        print(f"service ct:{vmid} ({node}, {state if state == 'ignored' else shown})")
    return 0
