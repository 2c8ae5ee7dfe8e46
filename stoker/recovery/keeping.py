"""Evidence put aside before each rung, for whoever asks later. No environment, no secrets: the
command lines in it are shortened already."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import time

from stoker.health.situation import Situation
from stoker.recovery import commands, files, in_time
from stoker.recovery.machine import Machine

NEWEST = 10
BUG_REPORT_S = 60.0
STACKS_S = 1.0
_started = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())


def folder(machine: Machine, vmid: int) -> str:
    """This run's folder; older ones than the newest ten go when it is made."""
    root = f"{machine.state}/recoveries"
    place = f"{root}/{_started}-{vmid}"
    if not os.path.isdir(place):
        os.makedirs(place, mode=0o700)
        for old in files.names(root)[:-NEWEST]:
            shutil.rmtree(f"{root}/{old}", ignore_errors=True)
    return place


def keep(machine: Machine, vmid: int, rung: str, situation: Situation) -> None:
    """One file of what was seen; the first time the kernel's last lines and the stacks as well."""
    place = folder(machine, vmid)
    number = len(files.names(place))
    told = {
        "rung": rung,
        "done": list(situation.done.rungs),
        "seen": dataclasses.asdict(situation.seen),
        "units": [dataclasses.asdict(unit) for unit in situation.units],
    }
    _write(f"{place}/{number:02d}-{rung}.json", json.dumps(told, indent=1, default=sorted))
    if number == 0:
        _write(f"{place}/kernel.log", _kernel_log(machine))
        _write(f"{place}/stacks.txt", _stacks(machine, situation))
    if rung in ("R5", "R6") and shutil.which("nvidia-bug-report.sh"):
        output = f"{place}/nvidia-bug-report.log"
        commands.read(
            ("nvidia-bug-report.sh", "--safe-mode", "--output-file", output), BUG_REPORT_S
        )


def _kernel_log(machine: Machine) -> str:
    if machine.stand_in:
        return files.text(machine.of_driver("/kernel.log"))
    words = ("journalctl", "-k", "-b", "-o", "short-unix", "-n", "200", "--no-pager")
    return commands.read(words, 5.0).out


def _stacks(machine: Machine, situation: Situation) -> str:
    """Of the holders that do not look as if they would end."""
    paths = [
        f"{machine.proc}/{holder.pid}/task/{tid}/stack"
        for holder in situation.ours
        if holder.stuck.kind
        for tid in files.names(f"{machine.proc}/{holder.pid}/task")
    ]
    told = in_time.answers(files.text, paths, in_time.Budget(STACKS_S)) if paths else {}
    return "\n".join(f"{path}\n{told.get(path, 'not told in time')}" for path in paths)


def _write(path: str, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(text)
