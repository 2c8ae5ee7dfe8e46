"""Stand-in: the program `pvesh`: get, and the creates that start and stop guests."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import Any, Dict, Sequence

from . import api, getopt, guests, power, store, table
from .command import Request
from .died import BadRequest, Died

OPTIONS = ("output-format", "current", "type", "timeout", "skiplock", "forcestop")
FLAGS = ("nooutput", "noborder", "human-readable", "quiet")
POWER = {
    "start": power.start,
    "stop": power.stop,
    "shutdown": power.shutdown,
    "reboot": power.reboot,
}


def main(words: Sequence[str]) -> int:
    """The exit code of `pvesh WORDS...`."""
    try:
        store.require_cluster()
        # These never take the word after them, as PVE's other booleans would.
        quiet = {"--nooutput", "--quiet"} & set(words)
        others = [word for word in words if word.lstrip("-") not in FLAGS]
        options, rest = getopt.parse(others, dict.fromkeys(OPTIONS, False))
        if len(rest) != 2:
            raise BadRequest("not enough arguments", 255)
        values = {name: given[-1] for name, given in options.items()}
        answer = _answer(rest[0], rest[1], values)
        if not quiet:
            print(_rendered(answer, values.get("output-format", "text")))
        return 0
    except Died as died:
        sys.stdout.flush()
        print(died.text, file=sys.stderr)
        return died.code


def _answer(verb: str, path: str, values: Dict[str, str]) -> Any:
    if verb == "get":
        return api.get(path, values)
    everyone = re.fullmatch(r"/nodes/[^/]+/(startall|stopall)", path)
    one = re.fullmatch(r"/nodes/[^/]+/lxc/(\d+)/status/(\w+)", path)
    if verb == "create" and everyone:
        _ = guests.start_all() if everyone.group(1) == "startall" else guests.stop_all()
        return _upid(everyone.group(1), "")
    if verb == "create" and one and one.group(2) in POWER:
        request = Request(int(one.group(1)), {**values, "vmid": one.group(1)}, ())
        POWER[one.group(2)](request)
        return _upid(f"vz{one.group(2)}", one.group(1))
    raise Died(f"No '{verb}' handler defined for '{path}'")


def _upid(kind: str, subject: str) -> str:
    now = f"{int(time.time()):08X}"
    return f"UPID:{store.node_name()}:{os.getpid():08X}:{now}:{now}:{kind}:{subject}:root@pam:"


def _rendered(answer: Any, form: str) -> str:
    if form == "json":
        return json.dumps(answer, separators=(",", ":"), sort_keys=True)
    if form == "json-pretty":
        return json.dumps(answer, indent=3, sort_keys=True)
    return table.render(answer)
