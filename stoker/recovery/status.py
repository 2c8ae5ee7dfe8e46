"""`status [VMID]`: runs that are at it, what they still owe, what this boot has used up."""

from __future__ import annotations

import argparse
import json
import re
from typing import Any

from stoker.recovery import abandoned, files, locking, scope
from stoker.recovery.attempts import Attempts
from stoker.recovery.machine import Machine
from stoker.recovery.record import Record


def add_to(commands: Any) -> None:
    """The options."""
    told = "recoveries that run, and what was left by one"
    parser = commands.add_parser("status", help=told, description=told)
    parser.add_argument("vmid", type=int, nargs="?")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print it; changes nothing."""
    told = status(Machine.here(), arguments.vmid)
    if arguments.json:
        print(json.dumps(told))
        return 0
    for line in sentences(told):
        print(line)
    return 0


def status(machine: Machine, vmid: int | None = None) -> dict[str, Any]:
    """Of that container, or of every one that a recovery has to do with."""
    attempts = Attempts(machine)
    vmids = known(machine) if vmid is None else (vmid,)
    return {
        "containers": [_container(machine, one) for one in vmids],
        "tried_this_boot": sorted(attempts.made),
        "hanging": abandoned.alive(machine),
        "locked_by": locking.holder(f"{machine.locks}/gpu.lock"),
    }


def known(machine: Machine) -> tuple[int, ...]:
    """VMIDs with a journal or a record on this node."""
    pattern = re.compile(r"recover(?:y-([0-9]+)\.json|-([0-9]+)\.jsonl)")
    found = (pattern.fullmatch(name) for name in files.names(machine.run))
    return tuple(sorted({int(match[1] or match[2]) for match in found if match}))


def _container(machine: Machine, vmid: int) -> dict[str, Any]:
    record = Record(machine, vmid)
    lines = files.text(f"{machine.run}/recover-{vmid}.jsonl").splitlines()
    return {
        "vmid": vmid,
        "running": scope.running(machine, vmid),
        "last": json.loads(lines[-1]) if lines else None,
        "owes": [{"kind": one.kind, "name": one.name} for one in record.changes],
        "wanted": sorted(record.wanted),
        "since": record.since,
        "locked_by": locking.holder(f"{machine.locks}/{vmid}.lock"),
    }


def sentences(told: dict[str, Any]) -> list[str]:
    """The same for people."""
    lines = []
    for one in told["containers"]:
        state = "a recovery is running" if one["running"] else "no recovery is running"
        lines.append(f"CT {one['vmid']}: {state}")
        if one["last"]:
            lines.append(f"  last: {one['last']['text']}")
        owed = ", ".join(f"{change['kind']} {change['name']}" for change in one["owes"])
        if owed and not one["running"]:
            lines.append(f"  left by a run of {one['since']}: {owed}; run recover {one['vmid']}")
        elif one["wanted"] and not one["running"]:
            units = ", ".join(one["wanted"])
            lines.append(f"  since {one['since']} still to be brought up: {units}")
    if told["tried_this_boot"]:
        lines.append(f"tried in this boot: {', '.join(told['tried_this_boot'])}")
    lines += [f"hangs: {' '.join(one['words'])} (process {one['pid']})" for one in told["hanging"]]
    return lines or ["no recovery has run since this node booted"]
