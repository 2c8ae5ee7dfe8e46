"""`python -m stoker.sandbox up|status|down|reset|break`: the Proxmox-like node on this machine."""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from subprocess import DEVNULL

from stoker.refused import Refused
from stoker.sandbox import image, lifecycle, places, report, stuck, switches
from stoker.sandbox import state as states
from stoker.sandbox.lifecycle import Size


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m stoker.sandbox", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    for word, meaning in {
        "up": "build and start what is missing",
        "status": "show what there is",
        "down": "remove it; the image cache stays",
        "reset": "down, then up as before",
    }.items():
        command = commands.add_parser(word, help=meaning, description=meaning)
        command.add_argument("--name", default="demo", help="which instance (demo)")
        if word in ("up", "reset"):
            command.add_argument("--nodes", type=int, help="nodes (1)")
            command.add_argument("--containers", type=int, help="containers on each node (1)")
            command.add_argument("--gpus", type=int, help="stand-in GPUs on each node (8)")
            command.add_argument("--neighbours", type=int, help="others' containers on pve1 (0)")
            command.add_argument(
                "--bare",
                action="store_const",
                const=True,
                help="plan our containers and create none: a deploy does",
            )
            command.add_argument("--template", choices=image.SUITES, help="guests (debian-12)")
    broken = commands.add_parser("break", help="stuck processes, failing GPUs, ugly nodes")
    broken.add_argument("--name", default="demo", help="which instance (demo)")
    which = broken.add_mutually_exclusive_group(required=True)
    which.add_argument("scenario", nargs="?", help="name of a stuck state or a failure")
    which.add_argument("--list", action="store_true", help="print the names, one a line")
    which.add_argument("--heal", action="store_true", help="take everything back")
    return top


def _size(asked: argparse.Namespace) -> Size:
    """The size asked for; what was not said is as it stands, or else the default."""
    size = Size()
    if states.exists(asked.name):
        size = lifecycle.size_of(states.load(asked.name))
    given = {key: getattr(asked, key) for key in vars(size) if getattr(asked, key) is not None}
    return lifecycle.checked(Size(**(vars(size) | given)))


def _break(asked: argparse.Namespace) -> None:
    if asked.list:
        print("\n".join([*stuck.SCENARIOS, *switches.SWITCHES]))
    elif asked.heal:
        stuck.heal(states.load(asked.name))
        switches.heal(states.load(asked.name))
    elif asked.scenario in switches.SWITCHES:
        print(switches.turn_on(states.load(asked.name), asked.scenario))
    else:
        print(stuck.inject(states.load(asked.name), asked.scenario))


def act(asked: argparse.Namespace) -> None:
    """Do what the command line says."""
    if asked.command == "status":
        print(report.summary(states.load(asked.name), live=os.geteuid() == 0))
    elif asked.command == "up":
        print(report.summary(lifecycle.up(asked.name, _size(asked)), live=False))
    elif asked.command == "break":
        _break(asked)
    elif asked.command == "down":
        lifecycle.down(asked.name)
    elif asked.command == "reset":
        size = _size(asked)
        if states.exists(asked.name):
            lifecycle.down(asked.name)
        print(report.summary(lifecycle.up(asked.name, size), live=False))


def become_root(arguments: Sequence[str]) -> int:
    """Run the same command by sudo, without a question; give its exit status.

    With -B, so that root leaves no compiled file in the user's clone.
    """
    words = [sys.executable, "-B", "-m", "stoker.sandbox", *arguments]
    asked = ["sudo", "-n", "true"]
    if not shutil.which("sudo") or subprocess.run(asked, check=False, stderr=DEVNULL).returncode:
        raise Refused(
            "cannot build or change a sandbox as this user: it needs root, and `sudo -n` is "
            "refused; run the command as root or allow this user sudo without a password"
        )
    return subprocess.run(["sudo", "-n", *words], check=False).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; 1 and one sentence when it cannot be done."""
    words = sys.argv[1:] if arguments is None else arguments
    asked = parser().parse_args(words)
    try:
        places.checked_name(asked.name)
        only_reads = asked.command == "status" or getattr(asked, "list", False)
        if os.geteuid() != 0 and not only_reads:
            return become_root(words)
        os.umask(0o022)
        act(asked)
    except Refused as reason:
        print(reason, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
