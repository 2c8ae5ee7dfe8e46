"""Commands inside a container, and what its systemd and its servers say.

`lxc-attach` with a deadline, never `pct exec`: it works while Proxmox's cluster file system is
down, and costs milliseconds. A frozen container is never entered: the command would hang.
"""

from __future__ import annotations

import json
import os
import pkgutil
import time
from dataclasses import replace
from typing import Sequence

from stoker.health import plans, unit_text
from stoker.health.units import UnitState
from stoker.recovery import cgroups, commands
from stoker.recovery.commands import Ran
from stoker.recovery.machine import Machine

FACTS_S = 15.0
TOKEN_S = 90.0
_FACTS = r"""
properties=$1 discover=$2
shift 2
units=$({
    for unit in "$@"; do echo "$unit"; done
    [ "$discover" = no ] || {
        systemctl list-units --all --plain --no-legend --full sglang.service 'sglang@*.service'
        systemctl list-unit-files --plain --no-legend --full sglang.service 'sglang@*.service'
    } | while read -r unit _; do case $unit in *@.service) ;; *) echo "$unit" ;; esac; done
} 2>/dev/null | sort -u)
[ -n "$units" ] || exit 0
systemctl show -p "$properties" $units
for unit in $units; do
    printf '\nOf=%s\n' "$unit"
    systemctl cat "$unit" 2>/dev/null | sed -n '/^\[X-Stoker\]/,$s/^[A-Za-z]*=/X&/p'
done
"""


class Unreachable(Exception):
    """A command could not be run in the container; says why."""


def run(machine: Machine, vmid: int, words: Sequence[str], limit_s: float) -> Ran:
    """Its outcome; `Unreachable` if the container is frozen or does not let us in in time."""
    if cgroups.frozen(machine, vmid):
        raise Unreachable(f"CT {vmid} is frozen")
    ran = commands.read(plans.inside(vmid, *words), limit_s)
    if ran.code is None:
        raise Unreachable(f"a command in CT {vmid} did not end in {limit_s:.0f} s")
    if ran.code == 127 and not ran.out and "lxc-attach" in ran.err:
        raise Unreachable(_ended("lxc-attach", ran))
    return ran


def _ended(what: str, ran: Ran) -> str:
    """In one line, without the script that it was given."""
    said = (ran.err.strip() or ran.out.strip()).splitlines()
    return f"{what}: exit {ran.code}" + (f", {said[-1]}" if said else "")


def units(
    machine: Machine,
    vmid: int,
    passed: Sequence[str],
    named: Sequence[str],
    beside: Sequence[str] = (),
) -> tuple[UnitState, ...]:
    """The units named, else every one of ours; and those `beside` that hold a GPU.

    None of them has been asked for a token yet.
    """
    discover = "no" if named else "yes"
    words = ("sh", "-c", _FACTS, "sh", ",".join(unit_text.PROPERTIES), discover, *named, *beside)
    ran = run(machine, vmid, words, FACTS_S)
    if ran.code != 0:
        raise Unreachable(_ended(f"systemctl in CT {vmid}", ran))
    targets = frozenset(named) if named else None
    try:
        return unit_text.parse(ran.out.splitlines(), passed, time.monotonic(), targets)
    except ValueError as error:
        raise Unreachable(f"systemd of CT {vmid} does not make sense: {error}") from None


def asked(
    machine: Machine, vmid: int, wanted: Sequence[UnitState], limit_s: float = TOKEN_S
) -> tuple[UnitState, ...]:
    """The same units with what they answered to a request for one generated token."""
    able = [unit for unit in wanted if unit.main_pid and unit.url and unit.python]
    said = _answers(machine, vmid, able, limit_s) if able else {}
    return tuple(
        unit if unit not in able else replace(unit, answers=not why, said=why)
        for unit in wanted
        for why in [said.get(unit.name, "no answer in time")]
    )


def _answers(
    machine: Machine, vmid: int, able: Sequence[UnitState], limit_s: float
) -> dict[str, str]:
    """Unit -> why it gave no token; empty: it gave one. One that is not there did not answer."""
    questions = [
        {
            "unit": unit.name,
            "url": unit.url,
            "model": unit.model,
            "pid": unit.main_pid,
            "prompt": "Say one word.",
            "max_tokens": 1,
        }
        for unit in able
    ]
    words = (able[0].python, "-I", "-c", script(), json.dumps(questions))
    try:
        ran = run(machine, vmid, words, limit_s)
    except Unreachable as error:
        return {unit.name: str(error) for unit in able}
    silent = {} if ran.code == 0 else {unit.name: _ended(able[0].python, ran) for unit in able}
    return {**silent, **_told(ran.out)}


def _told(output: str) -> dict[str, str]:
    """What ask_token.py printed: a container may print anything, and nothing but this counts."""
    answers = {}
    for line in output.splitlines():
        try:
            one = json.loads(line)
            answers[str(one["unit"])] = str(one["error"] or "")
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
    return answers


def script() -> str:
    """`ask_token.py`: packed beside us, or where it lies in a checkout."""
    try:
        packed = pkgutil.get_data("stoker.recovery", "data/ask_token.py")
    except (FileNotFoundError, OSError):
        packed = None
    if packed is not None:
        return packed.decode()
    beside = os.path.join(os.path.dirname(__file__), "../serving/inside/ask_token.py")
    with open(beside, encoding="utf-8") as stream:
        return stream.read()


def last_lines(machine: Machine, vmid: int, unit: str, count: int = 15) -> list[str]:
    """The unit's last journal lines; none if they cannot be read."""
    words = ("journalctl", "-q", "--no-pager", "-o", "cat", "-n", str(count), "-u", unit)
    try:
        return run(machine, vmid, words, FACTS_S).out.splitlines()[-count:]
    except Unreachable:
        return []
