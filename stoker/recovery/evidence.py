"""`stoker.pyz evidence VMID --since EPOCH`: the node's half of a death, as JSON."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
from typing import Any

from stoker.recovery import host_side
from stoker.recovery.machine import Machine


def add_to(commands: Any) -> None:
    """Adds this command to the command line."""
    told = "what this node saw of a container since a time; changes nothing"
    parser = commands.add_parser("evidence", help=told, description=told)
    parser.add_argument("vmid", type=int)
    parser.add_argument("--since", type=_moment, required=True, help="seconds since 1970")
    parser.add_argument("--no-smi", action="store_true", help="do not ask nvidia-smi")
    parser.set_defaults(run=run)


def _moment(text: str) -> float:
    """Seconds since 1970; ValueError: no time, as nan and inf, which JSON does not know."""
    seconds = float(text)
    if not math.isfinite(seconds):
        raise ValueError(text)
    return seconds


def run(arguments: argparse.Namespace) -> int:
    """Looks once and prints one object."""
    smi = not arguments.no_smi
    found = host_side.of(Machine.here(), arguments.vmid, arguments.since, smi)
    print(json.dumps(dataclasses.asdict(found)))
    return 0
