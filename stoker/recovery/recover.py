"""`recover VMID`: clear what is stuck in one container and bring its units back."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import uuid
from typing import Any

from stoker.health.done import Permitted
from stoker.health.refusal import BAD
from stoker.recovery import printing, recovering, scope
from stoker.recovery.journal import Journal
from stoker.recovery.machine import Machine
from stoker.recovery.recovering import Order

OTHERS_S = 10.0
"""For a run that somebody else started in the same moment to begin."""
_UNIT = re.compile(r"[A-Za-z0-9:_.\\@][A-Za-z0-9:_.\\@-]*\.service")


def add_to(commands: Any) -> None:
    """The options; each opt-in stands for one rung."""
    told = "clear stuck GPU processes of one container"
    parser = commands.add_parser("recover", help=told, description=told)
    parser.add_argument("vmid", type=int)
    parser.add_argument(
        "--unit", action="append", default=[], type=_service, help="instead of every sglang unit"
    )
    parser.add_argument("--gpus", help="UUIDs, by comma; else all of the container")
    parser.add_argument("--serve", action="store_true", help="start every enabled unit of ours")
    parser.add_argument("--stop-running", action="store_true", help="a unit that does not answer")
    parser.add_argument("--allow-restart", action="store_true", help="of the container")
    parser.add_argument("--allow-gpu-reset", action="store_true")
    parser.add_argument("--reset-scope", choices=("node", "isolated"), default="node")
    parser.add_argument("--allow-driver-reload", action="store_true", help="nvidia_uvm")
    parser.add_argument("--full", action="store_true", help="reload every nvidia module")
    parser.add_argument("--allow-stop-service", action="append", default=[], metavar="UNIT")
    parser.add_argument("--ha", action="store_true", help="although HA manages it")
    wait = "for freed memory to come back (120)"
    parser.add_argument("--release-wait", type=_seconds, default=120.0, metavar="S", help=wait)
    parser.add_argument("--dry-run", action="store_true", help="say what would be done")
    parser.add_argument("--json", action="store_true", help="one object a line")
    parser.add_argument("--course", help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Start it apart and follow it; or, in the service of its own, do it."""
    if os.geteuid() != 0:
        print("cannot recover: only root can look into a container's processes", file=sys.stderr)
        return BAD
    machine = Machine.here()
    if arguments.dry_run:
        return _rehearsed(machine, arguments)
    if arguments.course:
        return _done(machine, arguments)
    return _followed(machine, arguments)


def order(arguments: argparse.Namespace) -> Order:
    """The options as the ladder knows them."""
    permitted = Permitted(
        stop_running=arguments.stop_running,
        restart=arguments.allow_restart,
        reset=arguments.allow_gpu_reset,
        reset_beside=arguments.reset_scope == "isolated",
        reload=arguments.allow_driver_reload,
        full=arguments.full,
        stop_services=tuple(arguments.allow_stop_service),
        ha=arguments.ha,
        serve=arguments.serve,
        release_s=arguments.release_wait,
    )
    gpus = tuple(arguments.gpus.split(",")) if arguments.gpus else None
    return Order(arguments.vmid, tuple(arguments.unit), gpus, permitted)


def _followed(machine: Machine, arguments: argparse.Namespace) -> int:
    run_id = "" if scope.running(machine, arguments.vmid) else uuid.uuid4().hex
    if run_id:
        failure = scope.start(machine, arguments.vmid, [*sys.argv[1:], "--course", run_id])
        if failure and not scope.begins(machine, arguments.vmid, OTHERS_S):
            print(f"cannot start the recovery: {failure}", file=sys.stderr)
            return 1
        run_id = "" if failure else run_id
    if not run_id:
        note = f"a recovery of CT {arguments.vmid} is running already; following it"
        print(note, file=sys.stderr, flush=True)
    code = 1
    try:
        for told in scope.follow(machine, arguments.vmid, run_id):
            printing.show(told, arguments.json)
            if told["event"] == "end":
                code = int(told["code"])
    except (KeyboardInterrupt, BrokenPipeError):
        print("not followed any more; the recovery goes on", file=sys.stderr)
    return code


def _done(machine: Machine, arguments: argparse.Namespace) -> int:
    journal = Journal.opened(machine, arguments.vmid, run=arguments.course)
    outcome = recovering.recover(machine, order(arguments), journal)
    journal.tell("end", outcome.text, code=outcome.code, changed=outcome.changed)
    return outcome.code


def _rehearsed(machine: Machine, arguments: argparse.Namespace) -> int:
    def also(line: str) -> None:
        printing.show(json.loads(line), arguments.json)

    journal = Journal(None, also)
    outcome = recovering.rehearse(machine, order(arguments), journal)
    journal.tell("end", outcome.text, code=outcome.code, changed=outcome.changed)
    return outcome.code


def _service(text: str) -> str:
    name = text if "." in text else f"{text}.service"
    if not _UNIT.fullmatch(name):
        raise argparse.ArgumentTypeError(f"{text!r} is no service's name")
    return name


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError("1 to 3600 seconds")
    return seconds
